-- Returns 1 if a case may neither go on nor out.
--@include withheld
--@key case
--@key owners
return is_withheld(case, owners) and 1 or 0
