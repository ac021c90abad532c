-- SPDX-License-Identifier: Apache-2.0
--
-- Counts what a chart is made of and what it renders to.

local M = {}

local function lines(text)
  local _, n = text:gsub("\n", "\n")
  if text ~= "" and text:sub(-1) ~= "\n" then n = n + 1 end
  return n
end

-- settings counts the values that can be set: a list is one, as is an empty map.
local function settings(value)
  if type(value) ~= "table" or #value > 0 or next(value) == nil then return 1 end
  local n = 0
  for _, v in pairs(value) do n = n + settings(v) end
  return n
end

-- list is a list that may be missing, or null.
local function list(value)
  return type(value) == "table" and value or {}
end

-- chart counts files. A chart below charts/ counts with the chart.
function M.chart(chart)
  local stats = {
    name = chart.name,
    version = chart.version,
    templates = { files = 0, lines = 0, helpers = 0 },
    values = { settings = 0, lines = 0, schema = false },
    scripts = { files = 0, lines = 0 },
    crds = 0,
    subcharts = 0,
    dependencies = helm.list({}),
  }
  for _, file in ipairs(chart.files) do
    local own = not file.name:match("^charts/")
    local name = file.name:match("^charts/.*/(%a+/.+)$") or file.name
    if file.name == "Chart.yaml" then
      local metadata = yaml.decode(file.data)
      stats.type = metadata.type or "application"
      for _, d in ipairs(list(metadata.dependencies)) do
        table.insert(stats.dependencies, { name = d.name, version = d.version, repository = d.repository })
      end
    elseif file.name:match("^charts/.*Chart%.yaml$") then
      stats.subcharts = stats.subcharts + 1
    elseif own and file.name == "values.yaml" then
      stats.values.lines = lines(file.data)
      stats.values.settings = settings(yaml.decode(file.data))
    elseif own and file.name:match("^values%.schema%.%a+$") then
      stats.values.schema = true
    elseif name:match("^templates/") then
      stats.templates.files = stats.templates.files + 1
      stats.templates.lines = stats.templates.lines + lines(file.data)
      local _, defined = file.data:gsub("{{%-?%s*define ", "")
      stats.templates.helpers = stats.templates.helpers + defined
    elseif name:match("^crds/") then
      stats.crds = stats.crds + 1
    elseif name:match("ext/lua/.*%.lua$") or name:match("^lua/.*%.lua$") then
      stats.scripts.files = stats.scripts.files + 1
      stats.scripts.lines = stats.scripts.lines + lines(file.data)
    end
  end
  return stats
end

-- pods calls visit for each pod's spec in an object.
local function pods(value, visit)
  if type(value) ~= "table" then return end
  if type(value.containers) == "table" then visit(value) end
  for _, v in pairs(value) do pods(v, visit) end
end

-- objects counts what was rendered.
function M.objects(stats, objects)
  local kinds, images, containers, unbounded, total = helm.map({}), helm.map({}), 0, 0, 0
  for _, object in ipairs(objects) do
    if type(object) == "table" and object.kind then
      total = total + 1
      kinds[object.kind] = (kinds[object.kind] or 0) + 1
      pods(object.spec, function(pod)
        for _, name in ipairs({ "initContainers", "containers" }) do
          for _, container in ipairs(list(pod[name])) do
            containers = containers + 1
            local image = container.image or "(none)"
            images[image] = (images[image] or 0) + 1
            if next(list(list(container.resources).limits)) == nil then unbounded = unbounded + 1 end
          end
        end
      end)
    end
  end
  stats.objects = { total = total, kinds = kinds }
  stats.containers = { total = containers, withoutLimits = unbounded, images = images }
end

return M
