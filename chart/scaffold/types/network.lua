---@meta

-- What charts' scripts can use, for editors. Written by "helm script types";
-- changes are lost.

---Options of a request.
---@class helm.HTTPOptions
---@field headers? table<string, string>
---@field timeout? number # seconds

---A request.
---@class helm.HTTPRequest: helm.HTTPOptions
---@field url string
---@field method? string
---@field body? string

---The answer to a request.
---@class helm.HTTPResponse
---@field status integer
---@field headers table<string, string>
---@field body string

http = {}

---Gets a URL. Options: headers (a table), timeout (seconds). The response has status, headers and body; a status of 400 and more is not an error.
---@param url string
---@param options? helm.HTTPOptions
---@return helm.HTTPResponse
function http.get(url, options) end

---Posts a text to a URL. Options and response as with http.get.
---@param url string
---@param body string
---@param options? helm.HTTPOptions
---@return helm.HTTPResponse
function http.post(url, body, options) end

---Makes a request from a table with url, method (GET where it is left out), headers, body and timeout (seconds).
---@param request helm.HTTPRequest
---@return helm.HTTPResponse
function http.request(request) end

net = {}

---The addresses of a host name.
---@param host string
---@return any[]
function net.lookup(host) end
