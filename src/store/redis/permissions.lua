-- Tries commands on a key of their own, which is gone afterwards; returns those that the user may not run, in order.
--@key probe
--@arg commands[]        each with its arguments, separated by spaces; KEY stands for the key
local denied = {}
for _, command in ipairs(commands) do
  local words = {}
  for word in string.gmatch(command, '%S+') do words[#words + 1] = word == 'KEY' and probe or word end
  local reply = redis.pcall(unpack(words))
  local said = type(reply) == 'table' and reply.err or ''
  -- Redis 7.2 reports an ACL failure, older ones name the user.
  if string.find(said, 'NOPERM') or string.find(said, 'ACL failure') or string.find(said, 'The user executing the script') then
    denied[#denied + 1] = command
  end
end
redis.pcall('DEL', probe)
return denied
