// The JSON of /api/v1, written by `make docs` from fleet's own Structs. Not by hand.

export interface Account {
  name: string;
  coder: string;
  directory: string;
  secret: string;
  variable: string;
  weight: number;
  max_concurrent: number;
  stop_at: number;
  day_budget: string;
  enabled: boolean;
}

export interface AccountNow {
  account: Account;
  own: boolean;
  windows: Window[];
  shut: string;
  until: string | null;
  pace: number | null;
  unproven: boolean;
  tasks: string[];
}

export interface AccountsView {
  as_of: string;
  accounts: AccountNow[];
  held: HeldLogin[];
  budgets: BudgetStatus[];
}

export interface ActEnd {
  verb: string;
  id: string;
  line: string;
  words: string;
  value: unknown;
}

export interface ActField {
  name: string;
  required: boolean;
}

export interface ActShown {
  verb: string;
  about: string;
  role: "answer" | "operate" | "view";
  fields: ActField[];
}

export interface Asks {
  kind: "question";
  text: string;
}

export interface Band {
  kind: "account" | "budget" | "paused" | "supervisor" | "vendor";
  name: string;
  start: string;
  end: string | null;
  why: string;
}

export interface BaseCheck {
  passed: boolean;
  tests: CountedTests | null;
}

export interface BegunMerge {
  own: string;
  line: string;
  tip: string;
  found: string;
  files: string[];
  ready: boolean;
}

export interface Budget {
  usd?: number | null;
  tokens?: number | null;
}

export interface BudgetSpent {
  kind: "budget";
  what: string;
}

export interface BudgetStatus {
  scope: "account" | "day" | "project" | "task";
  name: string;
  budget: Budget;
  spent: Spend;
}

export interface CannotLand {
  kind: "unlandable";
  why: string;
  tries: number;
  into: string;
  against: string;
}

export interface Changes {
  base: string;
  files: FileChange[];
  more: number;
  shared_with: string[];
  others: FileChange[];
  tracked: number;
  lost_files: number;
  lost_bytes: number;
  tree: string;
  kept: string[];
  hidden: string[];
  commits: string[];
  misplaced: Misplaced;
  diff: string;
  trouble: string;
}

export interface Check {
  command: string;
  code: number | null;
  started_at: string | null;
  seconds: number;
  timed_out: boolean;
  tail: string;
  tree: string;
  lacks: string[];
  restored: string[];
  tests: CountedTests | null;
  base: BaseCheck | null;
  trouble: string;
}

export interface ClosedPastFleet {
  kind: "unproved_close";
}

export interface Command {
  text: string;
  failed: boolean;
  denied: boolean;
  unended: boolean;
  tail: string;
}

export interface Comment {
  id: string;
  task_id: string;
  author: string;
  text: string;
  created_at: string;
}

export interface Compared {
  kind: "comparison";
  by: string;
}

export interface ComparedEntry {
  number: number;
  id: string;
  label: string;
  turn: number;
  result: Result;
  over: boolean;
  done: boolean;
  claim: string;
  checks: Check[];
  findings: Finding[];
}

export interface ComparisonView {
  as_of: string;
  id: string;
  title: string;
  state: "discarded" | "landing" | "making" | "picked" | "running";
  repository: string;
  commit: string;
  at: string;
  by: string;
  entries: ComparedEntry[];
  picked: string;
  landed: string;
  branch: string;
}

export interface CopyRules {
  project: string;
  share: string[];
}

export interface CountedTests {
  executed: number;
  skipped: number;
  runners: string[];
}

export interface Delivery {
  number: number;
  message: Message;
  run: number | null;
}

export interface Diff {
  task_id: string;
  run: number | null;
  files: FileOfDiff[];
  added: number;
  removed: number;
  digest: string;
  no_diff: string;
}

export interface DiffHunk {
  old: number;
  new: number;
  heading: string;
  rows: DiffRow[];
}

export interface DiffPart {
  task_id: string;
  run: number | null;
  file: FileOfDiff;
  hunks: DiffHunk[];
  first_row: number;
  next_row: number | null;
}

export interface DiffRow {
  sign: " " | "+" | "-" | "\\";
  old?: number | null;
  new?: number | null;
  text: string;
  marks?: [number, number][];
  cut?: boolean;
}

export interface Exam {
  changed: string[];
  added: string[];
  unnamed: string[];
}

export interface FileChange {
  path: string;
  kind: "added" | "changed" | "deleted";
  added: number;
  removed: number;
}

export interface FileOfDiff {
  number: number;
  path: string;
  was: string;
  kind: "added" | "binary" | "changed" | "deleted" | "mode" | "renamed";
  added: number;
  removed: number;
  lines: number;
  folded: boolean;
  digest: string;
}

export interface Finding {
  rule: string;
  what: string;
}

export interface GraphEdge {
  task: string;
  waits_for: string;
  kind: string;
}

export interface GroupCounts {
  needs_you: number;
  running: number;
  waiting: number;
  done: number;
}

export interface Halted {
  kind: "stopped";
  by: string;
}

export interface HeldLogin {
  name: string;
  account: string;
  cause: "crash" | "fabrication" | "login" | "model" | "program" | "outage";
  why: string;
  since: string;
  until: string;
}

export interface KnownPlaces {
  projects: KnownProject[];
  coders: string[];
  accounts: string[];
  coder: string;
  model: string;
  flags: string[];
}

export interface KnownProject {
  path: string;
  tasks: number;
  declared: boolean;
}

export interface LandRules {
  mode: "ask" | "auto" | "branch";
  into: string;
  asks_branch: boolean;
  how: "merge" | "rebase" | "squash";
  to: "branch" | "pr" | "push";
  verify: string[];
  own: string[];
  batch: number;
  protect: string[];
  tries: number;
}

export interface LandedAs {
  commit: string;
  parents: string[];
  tree: string;
  proof: string;
  checks: string[];
  line_before: string;
  line_after: string;
  at: string | null;
  pushed: string;
  pr: string;
  reverted: string;
}

export interface LandedWork {
  task_id: string;
  title: string;
}

export interface Landing {
  state: "ahead" | "asks" | "back" | "held" | "landed" | "testing" | "waiting";
  why: string;
  why_back: "checks" | "conflict" | "review" | "rules" | "verify" | null;
  repository: string;
  into: string;
  run: number;
  base: string;
  merged: string;
  tree: string;
  commit: string;
  checked: boolean;
  checks: string[];
  asks: string[];
  title: string;
  reason: string;
  how: "merge" | "rebase" | "squash";
  to: "branch" | "pr" | "push";
  tries: number;
  approved_by: string;
  at: string;
  conflict: string[];
  output: string;
  against: LandedWork[];
  merge: BegunMerge | null;
  refused: string;
  refusals: number;
  refused_run: number;
  host: string;
  red_line: string;
  landed: LandedAs | null;
}

export interface Lane {
  number: number;
  segments: Segment[];
}

export interface Limits {
  start: number;
  idle: number;
  time: number;
  turns: number;
  tokens: number;
  cost: number;
  output: number;
  memory: number;
  processes: number;
}

export interface Message {
  text: string;
  by: string;
  at: string;
  review: boolean;
}

export interface Misplaced {
  elsewhere: WorkElsewhere[];
  unrelated_to: string;
  shared: string[];
}

export interface NeedsApproval {
  kind: "approval";
  reasons: string[];
}

export interface Now {
  seq: number;
  as_of: string;
  home: string;
  queue: string;
  supervisor: SupervisorNow;
  counts: GroupCounts;
  done_since: string;
  rows: TaskRow[];
}

export interface NowChange {
  seq: number;
  after: number;
  as_of: string;
  supervisor: SupervisorNow;
  counts: GroupCounts;
  rows: TaskRow[];
  gone: string[];
}

export interface OnLine {
  kind: "line";
  into: string;
}

export interface OutOfAttempts {
  kind: "attempts";
  why: string;
  made: number;
  limit: number;
}

export interface OutOfScope {
  kind: "scope";
  what: string;
}

export interface PlanWritten {
  kind: "plan";
}

export interface Policy {
  expect: string;
  require: "any" | "approved" | "checked";
  verify: string[];
  verify_is_own: boolean;
  pins: string[];
  verify_time: number;
  scope: string[];
  work_in: "clone" | "directory";
  context: "full" | "lean" | "project";
  commit: string;
  tripwire: "off" | "refuse" | "report";
  sandbox: Sandbox;
  setup: string[];
  copies: CopyRules;
  land: LandRules;
  needs: string[];
  limits: Limits;
  budget: Budget;
  ask_wait: number | null;
}

export interface Proposed {
  kind: "proposal";
  by: string;
}

export interface PutOff {
  kind: "put_off";
  why: string;
  gate: string;
  line: string;
  person: boolean;
}

export interface Question {
  id: string;
  title: string;
  cwd: string;
  note: string;
  question: string;
  plan: boolean;
  way_out: string;
  options: string[];
  default: string;
  asked_at: string | null;
  waiting: boolean;
  waits_until: string | null;
  proposed: boolean;
}

export interface QuestionAsked {
  kind: string;
  head: string;
  text: string;
}

export interface Receipt {
  task_id: string;
  run: number;
  project: string;
  coder: string;
  model: string;
  account: string;
  host: string;
  version: string;
  session_id: string;
  started_at: string | null;
  seconds: number | null;
  outcome: string;
  why: string;
  claim: string | null;
  text: string;
  tools: Record<string, number>;
  tool_errors: number;
  tool_results: number;
  commands: Command[];
  more_commands: number;
  denied: string[];
  denied_calls: string[];
  destroyed: string[];
  subagents: number;
  turns: number;
  usage: Usage;
  partial: boolean;
  cost_usd: number | null;
  estimated_usd: number | null;
  cpu_seconds: number | null;
  memory_bytes: number | null;
  swept: string[];
  stop_seconds: number | null;
  changes: Changes | null;
  artifacts: string[];
  checks: Check[];
  exam: Exam;
  whole: FileChange[];
  rejected_work: RejectedWork[];
  policy: Policy;
  verdict: Verdict | null;
}

export interface RejectedWork {
  run: number;
  rules: string[];
  files: string[];
}

export interface Result {
  standing: "again" | "asks" | "checked" | "closed" | "failed" | "gone" | "out of scope" | "rejected" | "running" | "stopped" | "unchecked" | "verifying" | "waiting";
  why: string;
  attempts: number;
  seconds: number;
  untimed: number;
  usage: Usage;
  uncounted: number;
  tokens_so_far: number;
  cost_usd: number;
  estimated_usd: number;
  unpriced: number;
  size: Size | null;
}

export interface RunNow {
  number: number;
  doing: "elsewhere" | "held" | "invalid" | "landing" | "running" | "settling" | "starting" | "stopping" | "unsupervised" | "verifying" | "waiting";
  started_at: string | null;
  last_event_at: string | null;
  last_step: string;
  context_used: number;
  context_peak: number;
  context_size: number;
  events: number;
  tool_calls: number;
  spent: Spend;
  rung: string;
  near: string[];
}

export interface RunSummary {
  number: number;
  coder: string;
  model: string;
  account: string;
  begun: string | null;
  ended: string | null;
  outcome: string;
  why: string;
  counts: boolean;
  spent: Spend;
  verdict: string | null;
  has_receipt: boolean;
  has_diff: boolean;
}

export interface Sandbox {
  level: "off" | "strict" | "workspace";
  read: string[];
  write: string[];
  hosts: string[];
  setup_hosts: string[];
}

export interface Segment {
  task_id: string;
  title?: string;
  kind: "run" | "wait";
  start: string;
  end?: string | null;
  run?: number | null;
  coder?: string;
  model?: string;
  account?: string;
  outcome?: string;
  why?: string;
  verdict?: string;
}

export interface SetAside {
  kind: "by_hand";
  note: string;
}

export interface SettingOf {
  name: string;
  value: string;
  source: string;
}

export interface Size {
  files: number;
  added: number;
  removed: number;
}

export interface Spend {
  runs?: number;
  tokens?: number;
  usd?: number;
  estimated_usd?: number;
  unpriced?: number;
}

export interface Spent {
  name: string;
  runs: number;
  usage: Usage;
  uncounted: number;
  cost_usd: number;
  estimated_usd: number;
  estimated: number;
  unpriced: number;
  checked: number;
  unchecked: number;
  wasted_runs: number;
  wasted_tokens: number;
  wasted_usd: number;
}

export interface SupervisorNow {
  alive: boolean;
  pid: number | null;
  since: string | null;
  version: string;
  paused_since: string | null;
  runs: number;
  slots: number;
  queue_problem: string;
  queue_hint: string;
  shortage: string;
  hindrances: string[];
  budgets: BudgetStatus[];
  lost_log_lines: number;
}

export interface TakenBack {
  kind: "reverted";
  into: string;
  commit: string;
  by: string;
}

export interface Task {
  id: string;
  title: string;
  status: "blocked" | "closed" | "deferred" | "hooked" | "in_progress" | "open" | "pinned";
  priority: number;
  issue_type: string;
  created_at: string;
  updated_at: string;
  description: string;
  design: string;
  acceptance_criteria: string;
  notes: string;
  spec_id: string;
  assignee: string;
  owner: string;
  created_by: string;
  estimated_minutes: number | null;
  started_at: string | null;
  closed_at: string | null;
  close_reason: string;
  due_at: string | null;
  defer_until: string | null;
  not_before: string | null;
  external_ref: string | null;
  metadata: Record<string, unknown>;
  extra: Record<string, unknown>;
  labels: string[];
  fence: number;
  lease_owner: string | null;
  lease_until: string | null;
  heartbeat_at: string | null;
  runs: number;
  attempts: number;
  last_host: string;
  waits: Asks | Proposed | PlanWritten | NeedsApproval | ToLand | OnLine | CannotLand | Compared | OutOfAttempts | OutOfScope | BudgetSpent | ToMend | Halted | TakenBack | ClosedPastFleet | SetAside | PutOff | null;
  cwd: string | null;
  coder: string | null;
  model: string | null;
}

export interface TaskGraph {
  as_of: string;
  center: string;
  nodes: TaskRow[];
  edges: GraphEdge[];
  unblocks: number;
  more: number;
}

export interface TaskRow {
  id: string;
  title: string;
  state: "asks" | "done" | "failed" | "landed" | "needs approval" | "ready" | "running" | "sent back" | "stopped" | "to land" | "verifying" | "waiting";
  group: "done" | "needs_you" | "running" | "waiting";
  status: "blocked" | "closed" | "deferred" | "hooked" | "in_progress" | "open" | "pinned";
  project: string;
  directory: string;
  coder: string;
  model: string;
  account: string;
  priority: number;
  issue_type: string;
  labels: string[];
  parent: string;
  created_at: string;
  since: string | null;
  until: string | null;
  reason: string;
  way_on: WayOn | null;
  question: string;
  options: string[];
  attempt: number;
  attempts: number;
  verdict: "checked" | "out of scope" | "rejected" | "unchecked" | null;
  landing: "ahead" | "asks" | "back" | "held" | "landed" | "testing" | "waiting" | null;
  landing_words: string;
  spent: Spend;
  run: RunNow | null;
}

export interface TaskTexts {
  plan: string;
  knowledge: string;
  cut: string[];
}

export interface Timeline {
  as_of: string;
  start: string;
  end: string;
  lanes: Lane[];
  waits: Segment[];
  bands: Band[];
  more: number;
}

export interface ToLand {
  kind: "landing";
  into: string;
}

export interface ToMend {
  kind: "broken";
  what: string;
  hint: string;
}

export interface Transcript {
  task_id: string;
  start: number;
  end: number;
  size: number;
  live: boolean;
  entries: TranscriptEntry[];
}

export interface TranscriptEntry {
  at: number;
  part?: number;
  kind: "call" | "error" | "note" | "person" | "sign" | "text" | "thinking";
  ts?: string | null;
  run?: number;
  line: string;
  text?: string;
  cut?: boolean;
  tool?: string;
  call?: string;
  result?: string;
  failed?: boolean;
  denied?: boolean;
}

export interface TranscriptHit {
  at: number;
  run: number;
  kind: "call" | "error" | "note" | "person" | "sign" | "text" | "thinking";
  line: string;
}

export interface TranscriptHits {
  task_id: string;
  wanted: string;
  size: number;
  hits: TranscriptHit[];
  next_at: number | null;
}

export interface Usage {
  input: number;
  cache_read: number;
  cache_write: number;
  output: number;
}

export interface UsageView {
  as_of: string;
  since: string | null;
  by: "account" | "coder" | "day" | "model" | "project" | "task";
  rows: Spent[];
  total: Spent;
  days: Spent[];
  budgets: BudgetStatus[];
}

export interface Verdict {
  findings: Finding[];
  trespasses: Finding[];
  checked: boolean;
}

export interface WayOn {
  verb: string;
  line: string;
  task: string;
}

export interface WholeTask {
  as_of: string;
  row: TaskRow;
  task: Task;
  invalid: string;
  hint: string;
  settings: SettingOf[];
  budget: BudgetStatus | null;
  receipt: Receipt | null;
  findings: Finding[];
  runs: RunSummary[];
  texts: TaskTexts;
  questions: QuestionAsked[];
  messages: Delivery[];
  comments: Comment[];
  waits_for: TaskRow[];
  unblocks: TaskRow[];
  landing: Landing | null;
  clone: string;
  branch: string;
  comparison: string;
}

export interface Window {
  kind: "credit" | "five_hour" | "outage" | "overage" | "overload" | "throttle" | "usage" | "weekly" | "weekly_opus" | "weekly_sonnet";
  model: string;
  status: "allowed" | "rejected" | "warning";
  used_percent: number | null;
  resets_at: string | null;
  seen_at: string;
}

export interface WorkElsewhere {
  kind: "branch" | "rewound" | "stash";
  name: string;
  commit: string;
  title: string;
  count: number;
  held_by: string;
}
