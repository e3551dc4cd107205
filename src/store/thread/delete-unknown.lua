-- Deletes those of many subjects of which nothing is known, as threads/delete-post.lua would: each leaves a tombstone, and it is
-- noted that it was deleted. Of the others nothing is done. Returns for each, in order, 1 if it is deleted now.
--@include note-deleted
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
--@arg keep               how long a tombstone is kept, ms
local erasures = { owners = owners, shelves = shelf_erasures, cases = case_erasures }
local deleted = {}
for nth, one in ipairs(subjects) do
  deleted[nth] = 0
  if redis.call('EXISTS', one.thread, one.comments, one.sample, one.authors, one.orphans, one.revisions, one.replies,
    one.requests, one.asked, one.decided) == 0 then
    note_deleted(erasures, one.shown, one.owner)
    redis.call('HSET', one.thread, 'deleted', 1)
    redis.call('PEXPIRE', one.thread, keep)
    deleted[nth] = 1
  end
end
return deleted
