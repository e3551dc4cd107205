-- Notes how far the reader of Jetstream has come, and what of its records was sent.
--@key position
--@key gone
--@arg time              of the last event, µs since 1970
--@arg relay
--@arg seq               empty: the relay gives none
--@arg keep              how long the notes are kept, ms
--@key taken[].key
--@arg taken[].note
--@arg authors[]         whose accounts are gone
for _, author in ipairs(authors) do redis.call('SADD', gone, author) end
redis.call('HSET', position, 'time', time, 'relay', relay, 'seq', seq)
for _, one in ipairs(taken) do redis.call('SET', one.key, one.note, 'PX', keep) end
