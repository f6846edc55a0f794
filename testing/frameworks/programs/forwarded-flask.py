"""Returns what Flask's ProxyFix derives from the headers of one trusted proxy."""

import os

from flask import Flask, jsonify, redirect, request, url_for
from werkzeug.middleware.proxy_fix import ProxyFix

app = Flask(__name__)
app.wsgi_app = ProxyFix(app.wsgi_app, x_for=1, x_proto=1, x_host=1)


@app.get("/seen")
def seen():
    return jsonify(scheme=request.scheme, host=request.host, client=request.remote_addr)


@app.get("/there")
def there():
    return redirect(url_for("arrived", _external=True))


@app.get("/there/")
def arrived():
    return "there"


app.run(host="127.0.0.1", port=int(os.environ["PORT"]))
