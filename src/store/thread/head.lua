-- What stands of a thread by itself: its fields without what cases carry or said, name and value in turns.
--@include fields-but
--@key thread
return fields_but(thread, function(name) return string.match(name, '^carry:') or string.match(name, '^ruling:') end)
