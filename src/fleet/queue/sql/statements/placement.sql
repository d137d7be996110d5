-- Which tasks a host may be given: a part of PostgreSQL's claim.

-- name: fits_host
-- What a host cannot run it does not see, and what another host would run sooner it leaves to that
-- one for a moment. Without an offer every task fits.
(tasks.requires = '' OR :offer::text IS NULL
 OR string_to_array(tasks.requires, E'\n') <@ string_to_array(:offer, E'\n'))
AND (tasks.repository = '' OR :unreachable::text IS NULL
     OR tasks.repository <> ALL (string_to_array(:unreachable, E'\n')))
AND (:names_coder::boolean IS NOT TRUE OR tasks.requires ~ '(^|\n)coder:')
AND NOT EXISTS (SELECT 1 FROM declines d WHERE d.task_id = tasks.id AND d.host = :owner)
AND NOT (:offer::text IS NOT NULL
         AND greatest(tasks.updated_at, tasks.not_before) > :left_since
         AND (tasks.last_host NOT IN ('', :owner) OR tasks.repository <> '')
         AND {better_elsewhere})

-- name: better_elsewhere
-- A host that is up and has a free slot holds the session of the last run, or has a mirror of the
-- repository where this one has none.
EXISTS (
    SELECT 1 FROM hosts h
    WHERE h.id <> :owner AND h.state = 'up' AND h.free > 0 AND h.seen_at > :heard_since
      AND (h.id = tasks.last_host
           OR (tasks.last_host <> :owner AND tasks.repository <> ''
               AND tasks.repository <> ALL (string_to_array(:mirrors, E'\n'))
               AND tasks.repository = ANY (string_to_array(h.mirrors, E'\n'))))
)
