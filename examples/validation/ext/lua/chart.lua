-- Holds values against each other, and tells everything that is wrong at once.

local rules = require("rules")

events.on("pre-render", function(ctx)
  local problems = {}
  for _, rule in ipairs(rules) do
    -- A rule fails where a value is missing or of the wrong kind. The schema, which
    -- comes next, tells that better.
    local ok, problem = pcall(rule, ctx.values)
    if ok and problem then
      problems[#problems + 1] = "- " .. problem
    end
  end
  if #problems > 0 then
    helm.fail("these values do not fit each other:\n" .. table.concat(problems, "\n"))
  end
end)
