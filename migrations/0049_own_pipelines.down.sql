drop function sluice_dispatch(text, text, jsonb, text, timestamptz);
drop function take_schedule_tick(text, timestamptz, timestamptz);
drop function take_own_slot(text, text, text, integer, uuid, bigint, uuid);
drop table own_slots;
drop table own_pipelines;
