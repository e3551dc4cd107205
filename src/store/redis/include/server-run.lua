--@include time
-- A server's run lasts from its start to its end; Redis gives each a run id. A new run records the watermark of the data at its
-- start (the field end:RUN of the run before): a process that has read a higher watermark in an earlier run then knows of a
-- loss, however far others have raised the watermark since.

-- After a start of Redis no case is opened or concluded for this long, in ms: by then each process has compared its token.
local QUIET_MS = 3000
local function run_of(incarnation)
  local info = redis.pcall('INFO', 'server')
  local run = type(info) == 'string' and string.match(info, 'run_id:(%w+)')
  local last_run, watermark = unpack(redis.call('HMGET', incarnation, 'run', 'watermark'))
  -- If INFO is not allowed, everything counts as one run.
  if not run then return last_run or '' end
  if last_run == run then return run end
  if last_run then
    redis.call('HSET', incarnation, 'end:' .. last_run, watermark or 0,
      'quiet', string.format('%.0f', redis_now() + QUIET_MS))
  end
  redis.call('HSET', incarnation, 'run', run)
  return run
end
local function is_quiet(incarnation)
  local left = tonumber(redis.call('HGET', incarnation, 'quiet') or '0') - redis_now()
  -- A clock that was set back must not extend it.
  return left > 0 and left <= QUIET_MS
end
-- Whether the caller has read a watermark that these data have not reached.
local function is_ahead(incarnation, watermark, run)
  local now = run_of(incarnation)
  local reached = (run == '' or run == now) and redis.call('HGET', incarnation, 'watermark')
    or redis.call('HGET', incarnation, 'end:' .. run)
  return not reached or tonumber(watermark) > tonumber(reached)
end
