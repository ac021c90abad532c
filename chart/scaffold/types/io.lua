---@meta

-- What charts' scripts can use, for editors. Written by "helm script types";
-- changes are lost.

---An open file.
---@class helm.Handle
local Handle = {}

io = {}

---Opens a file for reading (r, the default), writing (w), appending (a), or both (r+, w+, a+). What cannot be opened gives nil, a message and a number.
---@param path string
---@param mode? string
---@return helm.Handle
function io.open(path, mode) end

---Closes a file, or the default output.
---@param file? helm.Handle
---@return true
function io.close(file) end

---Goes through the lines of a file, or of the default input, and closes the file at its end. Formats are those of file:read.
---@param path? string
---@param ... string|integer
---@return fun(): any
function io.lines(path, ...) end

---Reads from the default input, which is empty unless io.input sets it.
---@param ... string|integer
---@return any ...
function io.read(...) end

---Writes texts and numbers to the default output, which prints.
---@param ... any
---@return helm.Handle
function io.write(...) end

---Sets the default input, and gives it.
---@param file? helm.Handle|string
---@return helm.Handle
function io.input(file) end

---Sets the default output, and gives it.
---@param file? helm.Handle|string
---@return helm.Handle
function io.output(file) end

---"file", "closed file", or nil for what is not a file.
---@param value any
---@return string
function io.type(value) end

---Makes a file for reading and writing that is removed when it is closed.
---@return helm.Handle
function io.tmpfile() end

---Runs a command of the shell and reads (r, the default) what it prints, or writes (w) what it reads. Closing the file gives what os.execute gives.
---@param command string
---@param mode? string
---@return helm.Handle
function io.popen(command, mode) end

---The standard input: it is empty.
---@type helm.Handle
io.stdin = {}

---The standard output: lines written to it are shown as print shows them.
---@type helm.Handle
io.stdout = {}

---The same as io.stdout.
---@type helm.Handle
io.stderr = {}

---Closes the file.
---@return true
function Handle:close() end

---Prints what was written to a standard stream without the end of its line. Other files keep nothing back.
---@return helm.Handle
function Handle:flush() end

---Goes through the lines of the file, or what the formats read, and leaves it open.
---@param ... string|integer
---@return fun(): any
function Handle:lines(...) end

---Reads by formats: "l" a line (the default), "L" a line with its end, "n" a number, "a" all that is left, or that many bytes. Nothing left gives nil.
---@param ... string|integer
---@return any ...
function Handle:read(...) end

---Moves to an offset from the start ("set"), from here ("cur", the default) or from the end ("end"), and gives the place.
---@param whence? string
---@param offset? integer
---@return number
function Handle:seek(whence, offset) end

---Does nothing: writing is not buffered.
---@param mode string
---@param size? integer
---@return true
function Handle:setvbuf(mode, size) end

---Writes texts and numbers.
---@param ... any
---@return helm.Handle
function Handle:write(...) end
