-- Sends one static request (environment variables REQUEST_*) repeatedly and prints the result as one line of JSON.
wrk.method = os.getenv("REQUEST_METHOD")
wrk.path = os.getenv("REQUEST_PATH")
local file = os.getenv("REQUEST_BODY_FILE")
if file then
  wrk.body = assert(io.open(file, "rb")):read("*a")
  wrk.headers["Content-Type"] = "application/json"
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%.6f,"bytes":%d,"errors":%d,"p50Ms":%.4f,"p99Ms":%.4f}\n',
    summary.requests, summary.duration / 1e6, summary.bytes,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3
  ))
end
