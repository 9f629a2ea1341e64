CREATE TABLE contents
(
    `project_id` UUID CODEC(ZSTD(1)),
    `hour` DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
    `run_id` UUID CODEC(ZSTD(1)),
    `content_id` UInt64 CODEC(ZSTD(1)),
    `kind` LowCardinality(String) CODEC(ZSTD(1)),
    `shared_ids` Array(UInt64) CODEC(ZSTD(3)),
    `shared_tails` Array(UInt64) CODEC(ZSTD(3)),
    `frame` String CODEC(ZSTD(3)),
    `texts` Array(String) CODEC(ZSTD(3)),
    INDEX contents_text lowerUTF8(arrayStringConcat(texts, ' ')) TYPE text(tokenizer = splitByNonAlpha) GRANULARITY 100000000
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(hour)
PRIMARY KEY (project_id, hour, run_id)
ORDER BY (project_id, hour, run_id, content_id)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_level_for_wide_part = 2, min_compress_block_size = 1048576, max_compress_block_size = 4194304, min_columns_to_activate_adaptive_write_buffer = 1, min_age_to_force_merge_seconds = 21600, min_age_to_force_merge_on_partition_only = 1, enable_max_bytes_limit_for_min_age_to_force_merge = 1;

CREATE TABLE run_bounds
(
    `project_id` UUID CODEC(ZSTD(1)),
    `run_id` UUID CODEC(ZSTD(1)),
    `first_start` SimpleAggregateFunction(min, DateTime64(9, 'UTC')) CODEC(Delta(8), ZSTD(1)),
    `last_start` SimpleAggregateFunction(max, DateTime64(9, 'UTC')) CODEC(Delta(8), ZSTD(1)),
    `first_batch` SimpleAggregateFunction(min, UInt64) CODEC(ZSTD(1)),
    `last_batch` SimpleAggregateFunction(max, UInt64) CODEC(ZSTD(1)),
    `deleted_at` SimpleAggregateFunction(max, UInt64) CODEC(ZSTD(1)),
    `absent` SimpleAggregateFunction(groupBitAnd, UInt64)
)
ENGINE = AggregatingMergeTree
ORDER BY (project_id, run_id)
SETTINGS index_granularity = 256, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE run_scores
(
    `project_id` UUID CODEC(ZSTD(1)),
    `run_id` UUID CODEC(ZSTD(1)),
    `score_id` UUID CODEC(ZSTD(1)),
    `version` UInt64 CODEC(Delta(8), ZSTD(1)),
    `deleted` UInt8,
    `name` LowCardinality(String) CODEC(ZSTD(1)),
    `value_kind` LowCardinality(String) CODEC(ZSTD(1)),
    `number` Nullable(Float64) CODEC(ZSTD(1)),
    `label` String CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
PRIMARY KEY (project_id, version)
ORDER BY (project_id, version, run_id, score_id)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE runs
(
    `project_id` UUID CODEC(ZSTD(1)),
    `run_id` UUID CODEC(ZSTD(1)),
    `version` UInt64 CODEC(ZSTD(1)),
    `deleted` UInt8,
    `start_time` DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `end_time` DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `first_received` DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `root_span_id` UInt64 CODEC(ZSTD(1)),
    `name` String CODEC(ZSTD(1)),
    `kind` LowCardinality(String) CODEC(ZSTD(1)),
    `status` LowCardinality(String) CODEC(ZSTD(1)),
    `error_type` LowCardinality(String) CODEC(ZSTD(1)),
    `error_message` String CODEC(ZSTD(1)),
    `input_preview` String CODEC(ZSTD(3)),
    `output_preview` String CODEC(ZSTD(3)),
    `session_id` String CODEC(ZSTD(1)),
    `conversation_id` String CODEC(ZSTD(1)),
    `user_id` String CODEC(ZSTD(1)),
    `agent_name` LowCardinality(String) CODEC(ZSTD(1)),
    `environment` LowCardinality(String) CODEC(ZSTD(1)),
    `release` LowCardinality(String) CODEC(ZSTD(1)),
    `agent_release` LowCardinality(String) CODEC(ZSTD(1)),
    `agent_parts` Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    `prompt_id` String CODEC(ZSTD(1)),
    `prompt_name` LowCardinality(String) CODEC(ZSTD(1)),
    `prompt_version` LowCardinality(String) CODEC(ZSTD(1)),
    `prompt_ids` Array(String) DEFAULT if((((length(prompt_id) + length(prompt_name)) + length(prompt_version)) >= 1) AND (((length(prompt_id) + length(prompt_name)) + length(prompt_version)) <= 8192), [prompt_id], []) CODEC(ZSTD(1)),
    `prompt_names` Array(LowCardinality(String)) DEFAULT if((((length(prompt_id) + length(prompt_name)) + length(prompt_version)) >= 1) AND (((length(prompt_id) + length(prompt_name)) + length(prompt_version)) <= 8192), [prompt_name], []) CODEC(ZSTD(1)),
    `prompt_versions` Array(LowCardinality(String)) DEFAULT if((((length(prompt_id) + length(prompt_name)) + length(prompt_version)) >= 1) AND (((length(prompt_id) + length(prompt_name)) + length(prompt_version)) <= 8192), [prompt_version], []) CODEC(ZSTD(1)),
    `system_text_ids` Array(UInt64) CODEC(ZSTD(1)),
    `tags` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `metadata` Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    `models` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `input_tokens` Nullable(Int64) CODEC(ZSTD(1)),
    `output_tokens` Nullable(Int64) CODEC(ZSTD(1)),
    `cache_read_tokens` Nullable(Int64) CODEC(ZSTD(1)),
    `cache_write_tokens` Nullable(Int64) CODEC(ZSTD(1)),
    `reasoning_tokens` Nullable(Int64) CODEC(ZSTD(1)),
    `other_tokens` Nullable(Int64) CODEC(ZSTD(1)),
    `cost_usd` Nullable(Float64) CODEC(ZSTD(1)),
    `cost_source` LowCardinality(String) CODEC(ZSTD(1)),
    `unpriced_call_count` UInt64 CODEC(ZSTD(1)),
    `span_count` UInt64 CODEC(ZSTD(1)),
    `error_count` UInt64 CODEC(ZSTD(1)),
    `llm_call_count` UInt64 CODEC(ZSTD(1)),
    `tool_call_count` UInt64 CODEC(ZSTD(1)),
    `tools` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `genai` Bool DEFAULT (kind != 'span') OR (input_preview != '') OR (output_preview != '') CODEC(ZSTD(1)),
    `source` LowCardinality(String) DEFAULT 'user' CODEC(ZSTD(1)),
    `replayability` LowCardinality(String) CODEC(ZSTD(1)),
    `sample_share` Nullable(Float64) CODEC(ZSTD(1)),
    `fingerprint` LowCardinality(String) CODEC(ZSTD(1)),
    `failure_class` LowCardinality(String) CODEC(ZSTD(1)),
    `failing_span_id` UInt64 CODEC(ZSTD(1)),
    `failing_kind` LowCardinality(String) CODEC(ZSTD(1)),
    `failing_name` LowCardinality(String) CODEC(ZSTD(1)),
    `failing_effects` LowCardinality(String) CODEC(ZSTD(1)),
    `failing_type` LowCardinality(String) CODEC(ZSTD(1)),
    `failing_template` String CODEC(ZSTD(1)),
    `written_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `signals` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `signal_span_ids` Array(UInt64) CODEC(ZSTD(1)),
    `signal_kinds` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `signal_names` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `signal_effects` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `signal_fingerprints` Array(String) CODEC(ZSTD(1)),
    `signals_unknown` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `signals_version` UInt8 CODEC(ZSTD(1)),
    INDEX runs_written_at written_at TYPE minmax GRANULARITY 1,
    INDEX runs_run_id run_id TYPE bloom_filter(0.0001) GRANULARITY 1,
    INDEX runs_thread (session_id, conversation_id) TYPE bloom_filter(0.0001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version, deleted)
PARTITION BY toYYYYMMDD(start_time)
PRIMARY KEY (project_id, toStartOfHour(start_time))
ORDER BY (project_id, toStartOfHour(start_time), run_id)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_columns_to_activate_adaptive_write_buffer = 1, min_age_to_force_merge_seconds = 21600, min_age_to_force_merge_on_partition_only = 1, enable_max_bytes_limit_for_min_age_to_force_merge = 1;

CREATE TABLE scores
(
    `project_id` UUID CODEC(ZSTD(1)),
    `run_id` UUID CODEC(ZSTD(1)),
    `score_id` UUID CODEC(ZSTD(1)),
    `version` UInt64 CODEC(Delta(8), ZSTD(1)),
    `deleted` UInt8,
    `span_id` UInt64 CODEC(ZSTD(1)),
    `name` LowCardinality(String) CODEC(ZSTD(1)),
    `value_kind` LowCardinality(String) CODEC(ZSTD(1)),
    `number` Nullable(Float64) CODEC(ZSTD(1)),
    `label` String CODEC(ZSTD(1)),
    `comment` String CODEC(ZSTD(3)),
    `source` LowCardinality(String) CODEC(ZSTD(1)),
    `author_kind` LowCardinality(String) CODEC(ZSTD(1)),
    `author_id` UUID CODEC(ZSTD(1)),
    `author_name` String CODEC(ZSTD(1)),
    `created_at` DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1))
)
ENGINE = ReplacingMergeTree(version, deleted)
ORDER BY (project_id, run_id, score_id)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE MATERIALIZED VIEW scores_to_run_scores TO run_scores
(
    `project_id` UUID,
    `run_id` UUID,
    `score_id` UUID,
    `version` UInt64,
    `deleted` UInt8,
    `name` LowCardinality(String),
    `value_kind` LowCardinality(String),
    `number` Nullable(Float64),
    `label` String
)
AS SELECT
    project_id,
    run_id,
    score_id,
    version,
    deleted,
    name,
    value_kind,
    number,
    label
FROM scores
WHERE span_id = 0;

CREATE TABLE shared_contents
(
    `project_id` UUID CODEC(ZSTD(1)),
    `day` Date CODEC(ZSTD(1)),
    `content_id` UInt64 CODEC(NONE),
    `shared_tail` UInt64 CODEC(NONE),
    `frame` String CODEC(ZSTD(3)),
    `texts` Array(String) CODEC(ZSTD(3)),
    INDEX shared_contents_text lowerUTF8(arrayStringConcat(texts, ' ')) TYPE text(tokenizer = splitByNonAlpha) GRANULARITY 100000000
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(day)
ORDER BY (project_id, day, content_id, shared_tail)
SETTINGS index_granularity = 256, fsync_after_insert = 1, fsync_part_directory = 1, min_columns_to_activate_adaptive_write_buffer = 1, min_age_to_force_merge_seconds = 21600, min_age_to_force_merge_on_partition_only = 1, enable_max_bytes_limit_for_min_age_to_force_merge = 1;

CREATE TABLE spans
(
    `project_id` UUID CODEC(ZSTD(1)),
    `run_id` UUID CODEC(ZSTD(1)),
    `span_id` UInt64 CODEC(ZSTD(1)),
    `version` UInt64 CODEC(Delta(8), ZSTD(1)),
    `parent_span_id` UInt64 CODEC(ZSTD(1)),
    `start_time` DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `end_time` DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `is_run` Bool CODEC(ZSTD(1)),
    `from_log` Bool CODEC(ZSTD(1)),
    `name` String CODEC(ZSTD(1)),
    `kind` LowCardinality(String) CODEC(ZSTD(1)),
    `operation` LowCardinality(String) CODEC(ZSTD(1)),
    `status` LowCardinality(String) CODEC(ZSTD(1)),
    `error_type` LowCardinality(String) CODEC(ZSTD(1)),
    `error_message` String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 262144, max_compress_block_size = 1048576),
    `error_stack` String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 262144, max_compress_block_size = 1048576),
    `service_name` LowCardinality(String) CODEC(ZSTD(1)),
    `scope_name` LowCardinality(String) CODEC(ZSTD(1)),
    `scope_version` LowCardinality(String) CODEC(ZSTD(1)),
    `dialect` LowCardinality(String) CODEC(ZSTD(1)),
    `framework` LowCardinality(String) CODEC(ZSTD(1)),
    `provider` LowCardinality(String) CODEC(ZSTD(1)),
    `request_model` LowCardinality(String) CODEC(ZSTD(1)),
    `response_model` LowCardinality(String) CODEC(ZSTD(1)),
    `response_hash` UInt32 CODEC(ZSTD(1)),
    `tool_name` LowCardinality(String) CODEC(ZSTD(1)),
    `tool_call_id` String CODEC(ZSTD(1)),
    `agent_name` LowCardinality(String) CODEC(ZSTD(1)),
    `session_id` String CODEC(ZSTD(1)),
    `conversation_id` String CODEC(ZSTD(1)),
    `user_id` String CODEC(ZSTD(1)),
    `environment` LowCardinality(String) CODEC(ZSTD(1)),
    `release` LowCardinality(String) CODEC(ZSTD(1)),
    `prompt_id` String CODEC(ZSTD(1)),
    `prompt_name` LowCardinality(String) CODEC(ZSTD(1)),
    `prompt_version` LowCardinality(String) CODEC(ZSTD(1)),
    `source` LowCardinality(String) CODEC(ZSTD(1)),
    `tags` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `finish_reasons` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `metadata` Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    `input_tokens` Nullable(Int64) CODEC(ZSTD(1)),
    `output_tokens` Nullable(Int64) CODEC(ZSTD(1)),
    `cache_read_tokens` Nullable(Int64) CODEC(ZSTD(1)),
    `cache_write_tokens` Nullable(Int64) CODEC(ZSTD(1)),
    `reasoning_tokens` Nullable(Int64) CODEC(ZSTD(1)),
    `other_tokens` Nullable(Int64) CODEC(ZSTD(1)),
    `cost_usd` Nullable(Float64) CODEC(ZSTD(1)),
    `cost_source` LowCardinality(String) CODEC(ZSTD(1)),
    `counting` LowCardinality(String) CODEC(ZSTD(1)),
    `price_version` LowCardinality(String) CODEC(ZSTD(1)),
    `time_to_first_token` Nullable(Float64) CODEC(ZSTD(1)),
    `input_preview` String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 131072, max_compress_block_size = 1048576),
    `output_preview` String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 131072, max_compress_block_size = 1048576),
    `output_calls` Bool CODEC(ZSTD(1)),
    `inputs` String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 65536, max_compress_block_size = 1048576),
    `outputs` String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 65536, max_compress_block_size = 1048576),
    `tool_arguments` String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 65536, max_compress_block_size = 1048576),
    `tool_result` String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 65536, max_compress_block_size = 1048576),
    `has_tool_result` Bool MATERIALIZED notEmpty(tool_result) CODEC(ZSTD(1)),
    `call_hash` UInt64 DEFAULT if(empty(tool_arguments), 0, greatest(xxHash64(tool_arguments), 1)) CODEC(ZSTD(1)),
    `result_hash` UInt64 DEFAULT if(empty(tool_result), 0, greatest(xxHash64(tool_result), 1)) CODEC(ZSTD(1)),
    `said` LowCardinality(String) CODEC(ZSTD(1)),
    `side_effects` LowCardinality(String) CODEC(ZSTD(1)),
    `escaped_words` String CODEC(ZSTD(3)),
    `input_message_ids` Array(UInt64) CODEC(ZSTD(3)),
    `output_message_ids` Array(UInt64) CODEC(ZSTD(3)),
    `instructions_id` UInt64 CODEC(ZSTD(3)),
    `instructions_text_id` UInt64 CODEC(ZSTD(1)),
    `system_message_text_id` UInt64 CODEC(ZSTD(1)),
    `tool_definitions_id` UInt64 CODEC(ZSTD(3)),
    `agent_parts` Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    `resource_id` UInt64 CODEC(ZSTD(3)),
    `attributes` Map(LowCardinality(String), String) CODEC(ZSTD(3)),
    `attributes_json` Map(LowCardinality(String), String) CODEC(ZSTD(3)),
    `events` String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 262144, max_compress_block_size = 1048576),
    `links` String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 262144, max_compress_block_size = 1048576),
    INDEX spans_text lowerUTF8(concat(name, ' ', inputs, ' ', outputs, ' ', tool_arguments, ' ', tool_result, ' ', error_message, ' ', escaped_words)) TYPE text(tokenizer = splitByNonAlpha) GRANULARITY 100000000
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(start_time)
PRIMARY KEY (project_id, toStartOfHour(start_time), run_id)
ORDER BY (project_id, toStartOfHour(start_time), run_id, start_time, span_id, version)
SETTINGS index_granularity = 2048, fsync_after_insert = 1, fsync_part_directory = 1, min_level_for_wide_part = 1, vertical_merge_algorithm_min_rows_to_activate = 1, min_compress_block_size = 16384, max_compress_block_size = 1048576, min_columns_to_activate_adaptive_write_buffer = 1, min_age_to_force_merge_seconds = 21600, min_age_to_force_merge_on_partition_only = 1, enable_max_bytes_limit_for_min_age_to_force_merge = 1;

CREATE TABLE waiting_records
(
    `project_id` UUID CODEC(ZSTD(1)),
    `conversation` String CODEC(ZSTD(1)),
    `at` DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `record_id` UInt64 CODEC(ZSTD(1)),
    `placed` UInt8,
    `traces` String CODEC(ZSTD(3)),
    `bytes` UInt32 MATERIALIZED length(traces) CODEC(ZSTD(1)),
    `written_at` DateTime('UTC') DEFAULT now('UTC') CODEC(Delta(4), ZSTD(1))
)
ENGINE = ReplacingMergeTree(placed)
PARTITION BY toYYYYMMDD(at)
ORDER BY (project_id, conversation, at, record_id)
TTL written_at + toIntervalDay(7)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1;
