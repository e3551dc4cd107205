-- How many bytes a tenant holds.
--@include kept-bytes
--@key kept
--@arg tenant
--@arg now               wall time, ms
return kept_sum(account_of(kept, tenant), now)
