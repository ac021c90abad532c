-- Adds a NetworkPolicy for every Service: its pods may be reached on the
-- Service's ports, from this release's pods, or from everywhere if it is public.

local function policy(service, from)
  local ports = helm.list()
  for _, port in ipairs(service.spec.ports) do
    ports[#ports + 1] = { port = port.targetPort or port.port, protocol = port.protocol or "TCP" }
  end
  return {
    apiVersion = "networking.k8s.io/v1",
    kind = "NetworkPolicy",
    metadata = { name = service.metadata.name, namespace = service.metadata.namespace },
    spec = {
      podSelector = { matchLabels = service.spec.selector },
      policyTypes = { "Ingress" },
      ingress = { { from = from, ports = ports } },
    },
  }
end

events.on("post-render", 0.9, function(ctx)
  local wanted = ctx.values.networkPolicies
  if not wanted.enabled then return end

  local public = {}
  for _, name in ipairs(wanted.public or {}) do
    public[ctx.release.name .. "-" .. name] = true
  end
  local own = { { podSelector = { matchLabels = { ["app.kubernetes.io/instance"] = ctx.release.name } } } }

  local policies = {}
  for _, object in ipairs(ctx.objects) do
    -- A Service without a selector has no pods of its own.
    if object.kind == "Service" and object.spec.selector then
      local from = own
      if public[object.metadata.name] then from = nil end
      policies[#policies + 1] = policy(object, from)
    end
  end
  for _, object in ipairs(policies) do
    table.insert(ctx.objects, object)
  end
end)
