-- Deletes those of many subjects of which nothing is known, as threads/delete-post.lua would: it is noted that each was
-- deleted, and each leaves a tombstone, if its tenant may hold that. Of the others nothing is done. Returns for each, in order, 1 if it is deleted now.
--@include note-deleted
--@include deleted-bytes
--@key owners
--@key shelf_erasures
--@key case_erasures
--@key subjects[].thread
--@key subjects[].comments
--@key subjects[].sample
--@key subjects[].authors
--@key subjects[].orphans
--@key subjects[].revisions
--@key subjects[].replies
--@key subjects[].requests
--@key subjects[].asked   the index of the memo's questions about it
--@key subjects[].shown
--@key subjects[].decided
--@arg subjects[].owner   the subject as shelves know it
--@arg subjects[].member
--@arg keep               how long a tombstone is kept, ms
--@arg now                wall time, ms
--@arg most               bytes that a tenant may hold; empty: no limit
local erasures = { owners = owners, shelves = shelf_erasures, cases = case_erasures }
local deleted = {}
for nth, one in ipairs(subjects) do
  deleted[nth] = 0
  if redis.call('EXISTS', one.thread, one.comments, one.sample, one.authors, one.orphans, one.revisions, one.replies,
    one.requests, one.asked, one.decided) == 0 then
    note_deleted(erasures, one.shown, one.owner)
    local account = account_of(one.thread, one.member)
    if may_hold(account, one.member, deleted_bytes(one.member), most, now) then
      redis.call('HSET', one.thread, 'deleted', 1)
      redis.call('PEXPIRE', one.thread, keep)
      hold_deleted(account, one.member, now, keep)
    end
    deleted[nth] = 1
  end
end
return deleted
