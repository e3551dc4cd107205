-- Notes whether all revisions that were ever published are known here from now on.
--@key incarnation
--@arg complete          1 if they are
if complete == '1' then redis.call('HSET', incarnation, 'since', redis.call('TIME')[1] .. '000')
else redis.call('HDEL', incarnation, 'since') end
return 1
