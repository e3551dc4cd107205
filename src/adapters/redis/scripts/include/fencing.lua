--@include server-run
-- Whether the caller's fencing token is valid: the data are of its incarnation and have reached its watermark, and Redis has not
-- just started. An empty id is the token of callers that don't watch the incarnation.
local function holds(incarnation, id, watermark, run)
  if id == '' then return true end
  if redis.call('HGET', incarnation, 'id') ~= id or is_ahead(incarnation, watermark, run) then return false end
  return not is_quiet(incarnation)
end
