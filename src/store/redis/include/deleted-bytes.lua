--@include kept-bytes
-- A deleted subject in its tenant's account, until it is forgotten; its id stands in three keys.
local function deleted_bytes(member) return 500 + 3 * #string.match(member, ':(.*)$') end
local function hold_deleted(account, member, now, keep)
  set_kept(account, member, deleted_bytes(member))
  end_kept(account, member, now, keep)
end
