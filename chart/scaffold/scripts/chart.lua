-- This script belongs to the chart. It runs when the chart is rendered, installed,
-- checked or packed, in a sandbox: it reaches no files, no network and no cluster,
-- unless ext/permissions.yaml asks for more and the user allows it.

-- Nothing below runs yet. To try an example, take the two dashes away from its
-- lines; "helm template . --trace-events" shows what it does.

-- Before templates are rendered, values can be computed and checked. helm.fail
-- stops the command with a message for the user:
--
-- events.on("pre-render", function(ctx)
--   if ctx.values.replicaCount < 1 then
--     helm.fail("replicaCount is " .. ctx.values.replicaCount .. ", must be 1 or more")
--   end
-- end)

-- Once templates have become objects, these can be changed, and others added.
-- This gives every object an annotation:
--
-- events.on("post-render", function(ctx)
--   for _, object in ipairs(ctx.objects) do
--     local metadata = object.metadata
--     metadata.annotations = metadata.annotations or {}
--     metadata.annotations["example.com/chart"] = ctx.chart.name .. "-" .. ctx.chart.version
--   end
-- end)

-- The number says when: 0.1 is before the handlers of subcharts, 0.9 after them.
-- Values of a subchart are below its name:
--
-- events.on("pre-render", 0.1, function(ctx)
--   ctx.values.mysql.port = 3307
-- end)

-- Templates can be given functions of your own, {{ shout "hello" }}:
--
-- template.func("shout", function(text)
--   return text:upper() .. "!"
-- end)

-- What is installed can be looked up. Where there is nothing, and where no cluster
-- is asked, this is an empty table:
--
-- events.on("pre-render", function(ctx)
--   local secret = kube.lookup("v1", "Secret", ctx.release.namespace, ctx.release.name)
--   if secret.data then
--     ctx.values.password = base64.decode(secret.data.password)
--   end
-- end)

-- Other files of ext/lua are loaded with require: this is ext/lua/names.lua.
--
-- local names = require("names")

-- print writes to standard error, which helps to find out what happens:
--
-- events.on("chart-loaded", function(ctx)
--   print(ctx.values)
-- end)
