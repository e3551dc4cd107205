-- Writes what images are in place of those that are kept beside a post, where it still has them.
--@key images
--@arg dropped[].hash
--@arg dropped[].found   what the image is, as JSON
for _, one in ipairs(dropped) do
  if redis.call('HEXISTS', images, one.hash) == 1 then redis.call('HSET', images, one.hash, one.found) end
end
