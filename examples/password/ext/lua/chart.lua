-- Keeps the password that is installed, unless the user says another.

events.on("pre-render", function(ctx)
  if (ctx.values.password or "") ~= "" then return end

  local name = ctx.release.name .. "-database"
  local secret = kube.lookup("v1", "Secret", ctx.release.namespace, name)
  -- Nothing is found where nothing is installed, and where helm does not talk to
  -- a cluster (helm template, helm lint). Then the template makes a new one.
  if secret.data and secret.data.password then
    ctx.values.password = base64.decode(secret.data.password)
  end
end)
