// Returns what Express derives from the headers of one trusted proxy.
import express from 'express';

express()
  .set('trust proxy', 1)
  .get('/seen', ({ protocol, host, ip }, response) => response.json({ scheme: protocol, host, client: ip }))
  .get('/there', ({ protocol, host }, response) => response.redirect(`${protocol}://${host}/there/`))
  .listen(Number(process.env.PORT), '127.0.0.1');
