-- Gives every Deployment a second container that ships the first one's logs.

-- add puts the container into a Deployment's pods, and a volume that it shares
-- with the others.
local function add(deployment, sidecar)
  local pod = deployment.spec.template.spec
  local volume = sidecar.name .. "-files"
  pod.volumes = pod.volumes or {}
  table.insert(pod.volumes, { name = volume, emptyDir = helm.map() })

  local mount = { name = volume, mountPath = sidecar.path }
  for _, container in ipairs(pod.containers) do
    container.volumeMounts = container.volumeMounts or {}
    table.insert(container.volumeMounts, mount)
  end
  table.insert(pod.containers, {
    name = sidecar.name,
    image = sidecar.image,
    volumeMounts = { { name = volume, mountPath = sidecar.path, readOnly = true } },
  })
end

-- Late, so that the container also gets into what other handlers have added.
events.on("post-render", 0.9, function(ctx)
  if not ctx.values.sidecar.enabled then return end
  for _, object in ipairs(ctx.objects) do
    if object.kind == "Deployment" then
      add(object, ctx.values.sidecar)
    end
  end
end)
