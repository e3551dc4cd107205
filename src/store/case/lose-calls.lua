-- Records calls that were made and brought no answer, each once; returns 0 if the case isn't open.
--@key case
--@key lost
--@arg calls[]           JSON
if redis.call('HGET', case, 'status') ~= 'open' then return 0 end
for _, call in ipairs(calls) do
  if not redis.call('LPOS', lost, call) then redis.call('RPUSH', lost, call) end
end
return 1
