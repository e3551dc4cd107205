-- Ends an asker's leases: others need not wait for its answers.
--@key leases[]
--@arg asker
for _, lease in ipairs(leases) do
  if redis.call('HGET', lease, 'asker') == asker then redis.call('DEL', lease) end
end
return 1
