-- The fields of an answer, name and value in turns, without transcripts, which few read.
--@include fields-but
--@key answers
return fields_but(answers, function(name) return string.match(name, '^transcript:') end)
