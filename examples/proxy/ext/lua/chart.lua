-- Tells the proxy about the database, so that no one has to say things twice.

events.on("pre-render", function(ctx)
  local database, proxy = ctx.values.database, ctx.values.proxy
  local service = ctx.release.name .. "-database"

  -- One server for each replica: the StatefulSet numbers them.
  local servers = helm.list()
  for i = 0, database.replicas - 1 do
    servers[#servers + 1] = ("%s-%d.%s:%d"):format(service, i, service, database.port)
  end
  proxy.servers = servers
  proxy.port = database.port
  proxy.maxConnections = database.maxConnections * database.replicas
end)
