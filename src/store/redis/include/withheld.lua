--@include time
-- Whether a case may neither go on nor out: it waits to begin again, what was deleted is being erased from it, or it was shown
-- content of a subject that was deleted since.
local function is_withheld(case, owners)
  local shown, withheld, withheld_until = unpack(redis.call('HMGET', case, 'shown', 'withheld', 'withheld_until'))
  if withheld or (withheld_until and tonumber(withheld_until) > redis_now()) then return true end
  if not shown then return false end
  for owner in string.gmatch(shown, '%S+') do
    if redis.call('ZSCORE', owners, owner) then return true end
  end
  return false
end
