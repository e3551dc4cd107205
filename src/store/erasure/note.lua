-- Notes that a subject was deleted, as its deletion does. For a recovery.
--@include note-deleted
--@key owners
--@key shelf_erasures
--@key case_erasures
--@key shown
--@arg owner
note_deleted({ owners = owners, shelves = shelf_erasures, cases = case_erasures }, shown, owner)
return 1
