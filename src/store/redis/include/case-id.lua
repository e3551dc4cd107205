-- A case's id ends with its number, whatever the ids before it hold.
local function number_in(id) return string.match(id, '~r(%d+)$') end
-- The id of a proposal in the place of the case's verdict.
local function proposal_id(id) return (string.gsub(id, '~r(%d+)$', '~p%1')) end
