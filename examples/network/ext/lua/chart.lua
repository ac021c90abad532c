-- Fetches the address ranges that may reach the site.

local range = "^[0-9a-fA-F.:]+/[0-9]{1,3}$"

events.on("pre-render", function(ctx)
  local allowed = ctx.values.allowed
  if (allowed.url or "") == "" then return end

  local answer = http.get(allowed.url)
  if answer.status ~= 200 then
    helm.fail(("allowed.url: %s answers with status %d"):format(allowed.url, answer.status))
  end
  -- What comes from the network is looked at before it is used.
  local ranges = allowed.ranges or helm.list()
  for _, text in ipairs(json.decode(answer.body).ranges) do
    if not regex.match(range, text) then
      helm.fail(("allowed.url: %s lists %q, which is not an address range"):format(allowed.url, text))
    end
    table.insert(ranges, text)
  end
  allowed.ranges = ranges
end)
