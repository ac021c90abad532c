-- SPDX-License-Identifier: Apache-2.0
--
-- helm chart-stats CHART [--json] [flags of helm template]

local count = require("count")
local report = require("report")

local usage = "helm chart-stats CHART [--json] [flags of helm template]"

-- parse takes the arguments apart: the chart, what is ours, and what is for
-- helm template.
local function parse(args)
  local options = { json = false, rest = {} }
  local chart = {}
  for i, arg in ipairs(args) do
    local before = args[i - 1]
    if arg == "--json" then
      options.json = true
    elseif i == 1 and arg:sub(1, 1) ~= "-" then
      options.chart = arg
    else
      table.insert(options.rest, arg)
      -- Two of them say which chart it is.
      local name, value = arg:match("^%-%-(%a+)=(.*)$")
      if name == "version" or name == "repo" then chart[name] = value end
      if i > 1 and (before == "--version" or before == "--repo") then chart[before:sub(3)] = arg end
    end
  end
  if not options.chart then
    helm.fail("which chart? usage: " .. usage)
  end
  options.source = chart
  return options
end

-- render has helm template print the objects.
local function render(options)
  local call = { "template", "stats", options.chart, "--include-crds" }
  for _, arg in ipairs(options.rest) do table.insert(call, arg) end
  local text, problem = helm.run(call)
  if not text then helm.fail(problem) end
  return yaml.decodeAll(text)
end

function main(args)
  if args[1] == "--help" or args[1] == "-h" then
    print("usage: " .. usage .. "\nhelm help chart-stats shows the flags")
    return 0
  end
  local options = parse(args)
  local chart, problem = helm.chart(options.chart, options.source)
  if not chart then helm.fail(problem) end

  local stats = count.chart(chart)
  -- A library renders to nothing by itself.
  count.objects(stats, stats.type == "library" and {} or render(options))
  if options.json then
    print(json.encode(stats))
  else
    report.print(stats)
  end
end
