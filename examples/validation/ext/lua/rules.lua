-- Each rule gets the values, and returns what is wrong, or nothing.

return {
  function(v)
    if v.replicas.min > v.replicas.max then
      return ("replicas.min (%d) is larger than replicas.max (%d)"):format(v.replicas.min, v.replicas.max)
    end
  end,

  function(v)
    if v.replicas.max > 1 and v.storage.accessMode ~= "ReadWriteMany" then
      return ("replicas.max is %d, and storage.accessMode %s lets one pod in: "
        .. "set storage.accessMode=ReadWriteMany or replicas.max=1"):format(v.replicas.max, v.storage.accessMode)
    end
  end,

  function(v)
    local secret = (v.tls.secretName or "") ~= ""
    local issuer = (v.tls.issuer or "") ~= ""
    if v.tls.enabled and not secret and not issuer then
      return "tls.enabled needs a certificate: set tls.secretName (one that is there) or tls.issuer (who makes one)"
    end
    if not v.tls.enabled and (secret or issuer) then
      return "tls.secretName and tls.issuer do nothing while tls.enabled is false"
    end
  end,
}
