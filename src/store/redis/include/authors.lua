-- A thread's comments by author: a sorted set of equal scores, whose members AUTHOR:RANK:ID (AUTHOR a hash of 16 characters,
-- RANK of 15 digits) are ordered by rank within each author.
local function by_author(author, rank, id) return author .. ':' .. string.format('%015.0f', rank) .. ':' .. id end
local function range_of(author) return '[' .. author .. ':', '(' .. author .. ';' end
local function drop_from_author(authors, sample, id, json)
  local author = json and string.match(json, '^{"by":"([%w_-]*)"')
  local rank = author and redis.call('ZSCORE', sample, id)
  if rank then redis.call('ZREM', authors, by_author(author, rank, id)) end
end
