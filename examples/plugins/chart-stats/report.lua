-- SPDX-License-Identifier: Apache-2.0
--
-- Shows statistics to people.

local M = {}

local function plural(n, one, many)
  return string.format("%d %s", n, n == 1 and one or many or one .. "s")
end

-- rows prints lines of two columns, the first as wide as its widest.
local function rows(list)
  local width = 0
  for _, row in ipairs(list) do width = math.max(width, #row[1]) end
  for _, row in ipairs(list) do
    print(row[1] .. string.rep(" ", width - #row[1] + 2) .. row[2])
  end
end

-- counted prints a map of numbers, the largest first.
local function counted(title, counts)
  local list = {}
  for name, n in pairs(counts) do table.insert(list, { name, tostring(n), n }) end
  if #list == 0 then return end
  table.sort(list, function(a, b)
    if a[3] ~= b[3] then return a[3] > b[3] end
    return a[1] < b[1]
  end)
  print()
  print(title)
  rows(list)
end

function M.print(s)
  local values = plural(s.values.settings, "setting") .. " in " .. plural(s.values.lines, "line")
  if s.values.schema then values = values .. ", with a schema" end
  local list = {
    { "chart", s.name .. " " .. s.version .. " (" .. s.type .. ")" },
    { "templates", plural(s.templates.files, "file") .. ", " .. plural(s.templates.lines, "line") .. ", " .. plural(s.templates.helpers, "helper") },
    { "values", values },
  }
  if s.scripts.files > 0 then table.insert(list, { "scripts", plural(s.scripts.files, "file") .. ", " .. plural(s.scripts.lines, "line") }) end
  if s.crds > 0 then table.insert(list, { "crds", plural(s.crds, "file") }) end
  if s.subcharts > 0 then table.insert(list, { "subcharts", tostring(s.subcharts) }) end
  for i, d in ipairs(s.dependencies) do
    local from = d.repository and d.repository ~= "" and " from " .. d.repository or ""
    table.insert(list, { i == 1 and "depends on" or "", d.name .. " " .. (d.version or "") .. from })
  end
  table.insert(list, { "objects", tostring(s.objects.total) })
  local containers = tostring(s.containers.total)
  if s.containers.withoutLimits > 0 then containers = containers .. ", " .. s.containers.withoutLimits .. " without limits" end
  table.insert(list, { "containers", containers })
  rows(list)
  counted("KIND", s.objects.kinds)
  counted("IMAGE", s.containers.images)
end

return M
