-- Whether a case may neither go on nor out: it waits to begin again, or was shown content of a subject that was deleted since.
local function is_withheld(case, owners)
  local shown, withheld = unpack(redis.call('HMGET', case, 'shown', 'withheld'))
  if withheld then return true end
  if not shown then return false end
  for owner in string.gmatch(shown, '%S+') do
    if redis.call('ZSCORE', owners, owner) then return true end
  end
  return false
end
