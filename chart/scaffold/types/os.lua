---@meta

-- What charts' scripts can use, for editors. Written by "helm script types";
-- changes are lost.


os = {}

---Seconds since the chart's scripts were loaded.
---@return number
function os.clock() end

---Writes a time by a format of C's strftime, "%c" where it is left out; "*t" gives a table, and "!" in front takes UTC.
---@param format? string|integer
---@param time? number
---@return string|table
function os.date(format, time) end

---Seconds between two times.
---@param later number
---@param earlier number
---@return number
function os.difftime(later, earlier) end

---Runs a command of the shell and prints what it prints. Gives true or nil, "exit" or "signal", and the number of either; without a command, whether there is a shell.
---@param command? string
---@return true?
---@return string
---@return number
function os.execute(command) end

---Is always an error: a script cannot end helm. helm.fail stops the operation.
function os.exit() end

---A variable of the environment that helm was started in, or nil.
---@param name string
---@return string
function os.getenv(name) end

---Removes a file or an empty directory.
---@param path string
---@return true
function os.remove(path) end

---Renames a file or a directory.
---@param from string
---@param to string
---@return true
function os.rename(from, to) end

---Knows the locale "C" only: asked for it or for nothing it gives "C", else nil.
---@param locale? string
---@return string
function os.setlocale(locale) end

---Now, or the time that a table with year, month, day, hour, min and sec says, in seconds since 1970. Fields that are out of range are put right in the table.
---@param table? table
---@return number
function os.time(table) end

---Makes an empty file in the directory for temporary files and gives its path.
---@return string
function os.tmpname() end
