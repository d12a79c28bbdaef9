#!/usr/bin/env bats
# The recipes of rlock-recipes(7), each executed from the page's own text.
load ../lib/rlock
load ../lib/namespaces
load ../lib/recipes

@test "every recipe of the page is executed here" {
  local heading
  while read -r heading; do
    grep -qF -e "recipe '$heading'" -e "recipe \"$heading\"" "$BATS_TEST_FILENAME" || fail "not executed: $heading"
  done < <(sed -n '/^\.Sh RECIPES/,/^\.Sh [^R]/s/^\.Ss //p' "$PAGE")
}

@test "no recipe has a placeholder for a repository" {
  run grep -nE '^.*uses: *(example|OWNER|[^./ ]*/rlock)' "$PAGE"
  assert_output ''
  grep -q 'uses: \./' "$PAGE"
}

@test "cron: one host runs the night's job, a spare takes over when it dies, the others run nothing" {
  local day host
  at_home
  day=$(date +%F)
  recipe 'Cron on several hosts' >"$T/crontab"
  job opt/nightly
  cron_entry "$T/crontab" @day
  launch host1 "${COMMAND[@]}"
  wait_until begun opt/nightly 1
  for host in host2 host3; do launch "$host" "${COMMAND[@]}"; done
  wait_queued nightly 2
  kill_shell_and_host host1
  wait_until begun opt/nightly 2
  touch "$T/opt/nightly.go"
  for host in host2 host3; do
    finish "$host"
    assert_success
    assert_silent
  done
  [[ $(date +%F) == "$day" ]] || skip 'a new day has begun'
  launch late "${COMMAND[@]}"
  finish late
  assert_success
  assert_silent
  assert_log opt/nightly begin begin end
}

# cron's shell may have made place for rlock, or wait for it.
kill_shell_and_host() {
  local name=$1 child
  child=$(first_child "${PIDS[$name]}")
  if [[ $(<"/proc/${PIDS[$name]}/comm") == sh ]]; then
    kill -KILL "$(first_child "$child")" "$child"
    wait_until gone "${PIDS[$name]}"
  else
    kill_host "$name"
  fi
}

@test "cron: while one host runs the batch, another exits quietly" {
  at_home
  recipe 'Cron on several hosts' >"$T/crontab"
  job opt/enqueue
  cron_entry "$T/crontab" enqueue
  launch host1 "${COMMAND[@]}"
  wait_until begun opt/enqueue 1
  launch host2 "${COMMAND[@]}"
  finish host2
  assert_success
  assert_silent
  touch "$T/opt/enqueue.go"
  finish host1
  assert_success
  assert_log opt/enqueue begin end
}

@test "cron: with a minimum hold a second host is too late, and the next minute is not" {
  at_home
  {
    echo "RLOCK_SERVER=$RLOCK_SERVER"
    recipe 'A job that is quicker than the clocks differ'
  } >"$T/crontab"
  lonely opt/tick
  cron_entry "$T/crontab" tick
  launch host1 "${COMMAND[@]}"
  finish host1
  launch host2 "${COMMAND[@]}"
  finish host2
  assert_success
  assert_silent
  assert_log opt/tick alone
  assert_less "$(redis pttl tick)" 54001
}

@test "systemd: the units are sound" {
  local unit
  command -v systemd-analyze >/dev/null || skip 'no systemd-analyze here'
  at_home
  job opt/report
  job opt/mailer
  recipe 'A systemd timer' 1 >"$T/report.service"
  recipe 'A systemd timer' 2 >"$T/report.timer"
  recipe 'A service that runs on one host at a time' >"$T/mailer.service"
  for unit in report.service report.timer mailer.service; do
    run systemd-analyze verify --man=no "$T/$unit"
    assert_success
    refute_output --partial "$unit"
  done
  run systemd-analyze calendar "$(setting "$T/report.timer" OnCalendar)"
  assert_success
}

@test "systemd: one host makes the report, for the other being second is no failure, and a stop is one TERM" {
  at_home
  recipe 'A systemd timer' >"$T/report.service"
  program opt/report <<<"exec '$LIB/log-signals' '$T/report.log' '$T/report.end' 0"
  sed -i '1i #!/bin/sh' "$T/opt/report"
  service "$T/report.service"
  launch host1 "${COMMAND[@]}"
  wait_until says "$T/report.log" started
  launch host2 "${COMMAND[@]}"
  finish host2
  assert_equal "$status" "$(setting "$T/report.service" SuccessExitStatus)"
  # KillMode=mixed: TERM for the main process alone, KILL for what is left of the group later.
  assert_equal "$(setting "$T/report.service" KillMode)" mixed
  signal TERM host1
  wait_until says "$T/report.log" TERM
  touch "$T/report.end"
  finish host1
  assert_equal "$(paste -sd ' ' "$T/report.log")" 'started TERM'
}

@test "systemd: a service runs on one host, moves when it dies, and a host that comes back waits" {
  at_home
  recipe 'A service that runs on one host at a time' >"$T/mailer.service"
  job opt/mailer
  service "$T/mailer.service"
  assert_equal "$(setting "$T/mailer.service" Restart)" always
  launch host1 "${COMMAND[@]}"
  wait_until begun opt/mailer 1
  launch host2 "${COMMAND[@]}"
  wait_queued mailer 1
  kill_host host1
  wait_until begun opt/mailer 2
  launch host1 "${COMMAND[@]}" # Restart=always
  wait_queued mailer 1
  signal TERM host1
  finish host1
  assert_equal "$status" 143
  signal TERM host2
  finish host2
  assert_log opt/mailer begin begin
}

@test "systemd: a service that lost the lock is a failure, so that it is started again" {
  at_home
  recipe 'A service that runs on one host at a time' >"$T/mailer.service"
  job opt/mailer
  service "$T/mailer.service"
  launch host1 "${COMMAND[@]}"
  wait_until begun opt/mailer 1
  rlock force-release -y mailer
  finish host1
  assert_equal "$status" 76
}

@test "GitLab: two pipelines deploy one after the other" {
  local pipeline
  at_home
  recipe 'GitLab CI' >"$T/gitlab.yml"
  lonely work/deploy.sh
  mapfile -t variables < <(yaml "d['deploy']['variables']" <"$T/gitlab.yml")
  yaml "d['deploy']['script']" <"$T/gitlab.yml" >"$T/script"
  for pipeline in 1 2; do
    launch "$pipeline" env "${variables[@]}" bash -eo pipefail "$T/script"
  done
  for pipeline in 1 2; do
    finish "$pipeline"
    assert_success
  done
  assert_log work/deploy.sh alone alone
}

@test "GitHub: two workflows deploy one after the other" {
  at_home
  recipe 'GitHub Actions' >"$T/steps.yml"
  lonely work/deploy.sh
  github one "$T/steps.yml"
  github two "$T/steps.yml"
  finish one
  assert_success
  finish two
  assert_success
  assert_log work/deploy.sh alone alone
}

@test "GitHub: the SIGINT of a cancelled step, which only its first process gets, reaches the job" {
  local block
  at_home
  program work/deploy.sh <<<"exec '$LIB/log-signals' '$T/deploy.log' '$T/deploy.end' 5"
  sed -i '1i #!/bin/sh' "$T/work/deploy.sh"
  for block in 1 2; do
    rm -f "$T/deploy.log" "$T/deploy.end"
    recipe 'GitHub Actions' "$block" >"$T/steps.yml"
    github step "$T/steps.yml"
    wait_until says "$T/deploy.log" started
    kill -INT "$(first_child "${PIDS[step]}")"
    wait_until says "$T/deploy.log" INT
    touch "$T/deploy.end"
    finish step
    assert_equal "$status" 5
  done
}

@test "GitHub: the repository's action queues, runs the script in bash -e, and builds rlock where there is none" {
  at_home
  recipe 'GitHub Actions' 2 >"$T/steps.yml"
  job work/deploy.sh
  github one "$T/steps.yml"
  wait_until begun work/deploy.sh 1
  github two "$T/steps.yml"
  wait_queued deploy:prod 1
  touch "$T/work/deploy.sh.go"
  finish one
  assert_success
  finish two
  assert_success
  assert_log work/deploy.sh begin end begin end
  sed 's|run: ./deploy.sh|run: "false; touch went-on"|' "$T/steps.yml" >"$T/failing.yml"
  github failing "$T/failing.yml"
  finish failing
  assert_equal "$status" 1
  [[ ! -e $T/work/went-on ]]
  yaml "d['runs']['steps'][0]['run']" <"$REPO/.github/actions/rlock/action.yml" >"$T/build"
  program checkout/scripts/build <<<'#!/bin/sh
echo "$@"'
  run env GITHUB_ACTION_PATH="$T/checkout/a/b/c" GITHUB_PATH="$T/path" PATH=/usr/bin:/bin sh -c 'mkdir -p "$GITHUB_ACTION_PATH"; bash -e "$0"' "$T/build"
  assert_output release
  assert_equal "$(<"$T/path")" "$T/checkout/build/release"
}

# action OPTIONS: the script with which the repository's action runs a command, given these options.
action() {
  yaml "d['runs']['steps'][1]['run']" <"$REPO/.github/actions/rlock/action.yml" >"$T/run"
  mkdir -p "$T/bin"
  ln -sfn "$RLOCK_BIN" "$T/bin/rlock"
  PATH=$T/bin:$PATH LOCK_SERVER='' LOCK_KEY=$K LOCK_WAIT=0 LOCK_OPTIONS=$1 \
    LOCK_RUN='echo "ran ${RLOCK_TOKEN##*/} $RLOCK_SLOT"' run bash --noprofile --norc -eo pipefail "$T/run" 3>&-
}

@test "GitHub: the repository's action reads every line of its options, and no word as a pattern" {
  action $'--label here\n--slot 1\n\t--reason *\n'
  assert_success
  assert_output --regexp '^ran here#[0-9a-f]+ 1$'
  run rlock log --json "$K"
  assert_output --partial '"reason": "*"'
  action ''
  assert_success
  assert_output --regexp '^ran .+ $'
}

@test "GitHub: the repository's action refuses options that end the options" {
  local options
  for options in '-- touch ran' $'-v\n--\ntouch ran' '--'; do
    action "$options"
    assert_failure 64
    assert_output "::error::rlock: the input 'options' must not have the word '--': the command is the input 'run'"
  done
}

@test "GitHub: a lock over several steps is released whatever happens, and checked before the deployment" {
  at_home
  recipe 'A lock over several steps' >"$T/steps.yml"
  export RLOCK_TTL='' # the recipe has its own
  program work/migrate.sh <<<'#!/bin/sh
rlock inspect -q deploy:prod && echo migrate >>../log'
  program work/deploy.sh <<<'#!/bin/sh
rlock inspect -q deploy:prod && echo deploy >>../log'
  github one "$T/steps.yml"
  finish one
  assert_success
  assert_equal "$(paste -sd ' ' "$T/log")" 'migrate deploy'
  free deploy:prod
  program work/migrate.sh <<<'#!/bin/sh
exit 3'
  github two "$T/steps.yml"
  finish two
  assert_equal "$status" 3
  free deploy:prod
  program work/migrate.sh <<<'#!/bin/sh
redis-cli -s "${RLOCK_SERVER#unix://}" pexpire deploy:prod 60000'
  github three "$T/steps.yml"
  finish three
  assert_equal "$status" 76
  assert_equal "$(paste -sd ' ' "$T/log")" 'migrate deploy'
  free deploy:prod
}

@test "a lock over several steps of a shell script" {
  at_home
  recipe 'A lock over several steps' 2 >"$T/steps"
  export RLOCK_TTL=''
  program work/migrate.sh <<<'#!/bin/sh
rlock inspect -q deploy:prod && echo migrate >>../log'
  program work/deploy.sh <<<'#!/bin/sh
rlock inspect -q deploy:prod && echo deploy >>../log'
  run sh "$T/steps"
  assert_success
  assert_equal "$(paste -sd ' ' "$T/log")" 'migrate deploy'
  free deploy:prod
  hold other -k deploy:prod
  run sh "$T/steps"
  assert_equal "$status" 75
  assert_equal "$(paste -sd ' ' "$T/log")" 'migrate deploy'
  let_go other
}

@test "Jenkins: two builds deploy one after the other, and an abort reaches the job" {
  local each
  at_home
  recipe 'Jenkins' >"$T/Jenkinsfile"
  lonely work/deploy.sh
  each=$(sed -n "s/^withEnv(\['\(.*\)'\]) {/\1/p" "$T/Jenkinsfile")
  COMMAND=(env "$each" sh -xe "$T/script")
  sed -n "s/^ *sh '\(.*\)'$/\1/p" "$T/Jenkinsfile" >"$T/script"
  [[ -s $T/script && -n $each ]]
  launch one "${COMMAND[@]}"
  launch two "${COMMAND[@]}"
  for each in one two; do
    finish "$each"
    assert_success
  done
  assert_log work/deploy.sh alone alone
  job work/deploy.sh
  rm "$T/work/deploy.sh.log"
  launch aborted "${COMMAND[@]}"
  wait_until begun work/deploy.sh 1
  signal TERM aborted
  finish aborted
  assert_equal "$status" 143
  assert_log work/deploy.sh begin
}

@test "Buildkite: two builds deploy one after the other" {
  local each
  at_home
  recipe 'Buildkite' >"$T/pipeline.yml"
  lonely work/deploy.sh
  mapfile -t COMMAND < <(yaml "d['steps'][0]['env']" <"$T/pipeline.yml")
  COMMAND=(env "${COMMAND[@]}" bash -e -c "$(yaml "d['steps'][0]['command']" <"$T/pipeline.yml")")
  launch one "${COMMAND[@]}"
  launch two "${COMMAND[@]}"
  for each in one two; do
    finish "$each"
    assert_success
  done
  assert_log work/deploy.sh alone alone
}

@test "Kubernetes: of two clusters' CronJobs one does the day's run, the other finds it done" {
  local day
  at_home
  day=$(date +%F)
  recipe 'A Kubernetes CronJob' | sed "s|/app/|$T/opt/|" >"$T/cronjob.yml"
  assert_equal "$(yaml "[d['apiVersion'], d['kind']]" <"$T/cronjob.yml" | paste -sd ' ')" 'batch/v1 CronJob'
  container "$T/cronjob.yml" "d['spec']['jobTemplate']['spec']['template']['spec']['containers'][0]"
  job opt/close
  launch one "${COMMAND[@]}"
  wait_until begun opt/close 1
  launch two "${COMMAND[@]}"
  wait_queued billing 1
  touch "$T/opt/close.go"
  finish one
  assert_success
  finish two
  assert_success
  [[ $(date +%F) == "$day" ]] || skip 'a new day has begun'
  assert_log opt/close begin end
}

@test "Kubernetes: of five pods one migrates, all end with its exit code, and one that starts later does nothing" {
  local pod
  at_home
  recipe 'A database migration at the start of N pods' | sed "s|/app/|$T/opt/|" >"$T/pod.yml"
  container "$T/pod.yml" "d['initContainers'][0]"
  job opt/migrate
  launch 1 "${COMMAND[@]}"
  wait_until begun opt/migrate 1
  for pod in 2 3 4 5; do launch "$pod" "${COMMAND[@]}"; done
  wait_queued migrate:app 4
  touch "$T/opt/migrate.go"
  for pod in 1 2 3 4 5; do
    finish "$pod"
    assert_success
  done
  launch late "${COMMAND[@]}"
  finish late
  assert_success
  assert_log opt/migrate begin end
}

@test "Kubernetes: a migration that fails is tried again three times, and then it has failed for all" {
  local attempt
  at_home
  recipe 'A database migration at the start of N pods' | sed "s|/app/|$T/opt/|; s|1\.7\.2|1.7.3|" >"$T/pod.yml"
  container "$T/pod.yml" "d['initContainers'][0]"
  job opt/migrate 4
  touch "$T/opt/migrate.go"
  for attempt in 1 2 3 4 5 6; do
    launch pod "${COMMAND[@]}"
    finish pod
    assert_equal "$status" 4
  done
  begun opt/migrate 4
}

@test "a container's entry point: as PID 1 it passes the stop on and exits with the job's code" {
  own_pids
  at_home
  recipe "A container's entry point" | sed "s|/app/|$T/opt/|" >"$T/Dockerfile"
  mapfile -t COMMAND < <(sed -n 's/^\(ENTRYPOINT\|CMD\) //p' "$T/Dockerfile" | jq -r '.[]')
  program opt/import <<<"exec '$LIB/log-signals' '$T/import.log' '$T/import.end' 6"
  sed -i '1i #!/bin/sh' "$T/opt/import"
  launch container "${INSIDE[@]}" "${COMMAND[@]}"
  wait_until says "$T/import.log" started
  kill -TERM "$(first_child "${PIDS[container]}")"
  wait_until says "$T/import.log" TERM
  touch "$T/import.end"
  finish container
  assert_equal "$status" 6
  free importer
}

@test "Ansible: hosts restart one after the other" {
  local host
  at_home
  recipe 'Ansible' >"$T/task.yml"
  lonely opt/app/restart
  ansible "$T/task.yml"
  for host in 1 2 3; do launch "$host" "${COMMAND[@]}"; done
  for host in 1 2 3; do
    finish "$host"
    assert_success
  done
  assert_log opt/app/restart alone alone alone
}

@test "Ansible: a migration runs once over all hosts, with the same result on each" {
  local host
  at_home
  recipe 'Ansible' 2 | sed 's|{{ release }}|2026.11|' >"$T/task.yml"
  job opt/app/migrate 3
  touch "$T/opt/app/migrate.go"
  ansible "$T/task.yml"
  for host in 1 2 3; do launch "$host" "${COMMAND[@]}"; done
  for host in 1 2 3; do
    finish "$host"
    assert_equal "$status" 3
  done
  assert_log opt/app/migrate begin end
}

# ansible FILE: what the first task of FILE runs
ansible() {
  mapfile -t COMMAND < <(yaml "d[0]['environment']" <"$1" && yaml "d[0]['ansible.builtin.command']['argv']" <"$1")
  COMMAND=(env "${COMMAND[@]}")
}

@test "make: two deployments go one after the other" {
  local each
  command -v make >/dev/null || skip 'no make here'
  at_home
  recipe 'Make' >"$T/work/Makefile"
  lonely work/deploy.sh
  launch one make deploy
  launch two make deploy
  for each in one two; do
    finish "$each"
    assert_success
  done
  assert_log work/deploy.sh alone alone
}

@test "a rolling reboot: one host at a time, held over the reboot, until the host serves again" {
  local host
  at_home
  export RLOCK_TTL=''
  program bin/systemctl <<<"#!/bin/sh
echo \"\$HOST \$*\" >>$T/reboots"
  for host in one two; do
    mkdir -p "$T/$host/var" "$T/$host/run"
    touch "$T/$host/run/reboot-required"
    recipe 'A rolling reboot, one host at a time' 1 | sed "s|$T|$T/$host|" >"$T/$host/in-cron"
    recipe 'A rolling reboot, one host at a time' 2 | sed "s|$T|$T/$host|g" >"$T/$host/at-boot"
  done
  HOST=one run sh "$T/one/in-cron"
  assert_success
  HOST=two run sh "$T/two/in-cron" # busy
  assert_success
  assert_output ''
  HOST=one run sh "$T/one/in-cron" # cron again, before the reboot has begun
  HOST=two run sh "$T/two/at-boot" # nothing to do
  assert_success
  assert_equal "$(<"$T/reboots")" 'one reboot'
  assert_less 3000000 "$(redis pttl reboot)"
  # The network is not there yet: the token is kept.
  HOST=one RLOCK_SERVER=unix:///nowhere run timeout 1 sh "$T/one/at-boot"
  assert_equal "$status" 124
  HOST=one run sh "$T/one/at-boot"
  assert_success
  HOST=two run sh "$T/two/in-cron"
  assert_equal "$(paste -sd , "$T/reboots")" 'one reboot,two reboot'
}

@test "a licence pool: three at once, not four" {
  local each
  at_home
  recipe 'A licence pool' >"$T/line"
  job work/simulate
  for each in 1 2 3; do launch "$each" sh "$T/line"; done
  wait_until begun work/simulate 3
  launch 4 sh "$T/line"
  wait_queued licence:cad 1
  begun work/simulate 3
  touch "$T/work/simulate.go"
  for each in 1 2 3 4; do
    finish "$each"
    assert_success
  done
  begun work/simulate 4
}

@test "a pool with names: two jobs have two of them" {
  local each
  at_home
  recipe 'A licence pool' 2 >"$T/line"
  program work/train <<<"#!/bin/sh
echo \"begin \$1\" >>$T/work/train.log
until [ -e $T/work/train.go ]; do sleep 0.02; done"
  for each in 1 2; do launch "$each" sh "$T/line"; done
  wait_until begun work/train 2
  assert_equal "$(sort "$T/work/train.log" | paste -sd ,)" 'begin gpu:0,begin gpu:1'
  touch "$T/work/train.go"
  for each in 1 2; do
    finish "$each"
    assert_success
  done
}

@test "readers run together, the writer alone" {
  at_home
  recipe 'Readers and a writer' | sed -n 1p >"$T/report"
  recipe 'Readers and a writer' | sed -n 2p >"$T/load"
  job work/report.sh
  job work/load.sh
  launch reader1 sh "$T/report"
  launch reader2 sh "$T/report"
  wait_until begun work/report.sh 2
  launch writer sh "$T/load"
  wait_queued warehouse 1
  [[ ! -e $T/work/load.sh.log ]]
  touch "$T/work/report.sh.go" "$T/work/load.sh.go"
  finish writer
  assert_success
  finish reader1
  finish reader2
}

@test "a script that locks itself runs once, with its arguments, and checks its lock before the step that counts" {
  at_home
  export RLOCK_TTL=''
  recipe 'A script that locks itself' | program work/report.sh
  run ./report.sh
  assert_success
  assert_output 'the step that counts'
  hold other -k nightly:report
  run ./report.sh
  assert_equal "$status" 75
  refute_output --partial counts
  let_go other
}

@test "whether last night's run ended well: from the server, and from the status file" {
  at_home
  recipe "Did last night's run end well?" 1 >"$T/morning"
  recipe "Did last night's run end well?" 2 >"$T/night"
  run sh "$T/morning"
  assert_output --partial 'no good run in 26 hours'
  program work/nightly.sh <<<'#!/bin/sh
exit 0'
  run sh "$T/night"
  assert_success
  assert_equal "${lines[*]:0:2}" 'ran 0'
  run sh "$T/morning"
  assert_success
  assert_output --partial 'exit 0'
  refute_output --partial 'no good run'
}

@test "Prometheus: the entry writes a file that appears whole, and keeps the last one while no server answers" {
  at_home
  recipe 'Prometheus' 1 >"$T/crontab"
  mkdir -p "$T/var/node-exporter"
  attempt -k nightly -- true
  cron_entry "$T/crontab" cd
  run "${COMMAND[@]}"
  assert_success
  assert_output ''
  grep -qx 'rlock_remembered_runs{key="nightly",outcome="succeeded"} 1' "$T/var/node-exporter/rlock.prom"
  assert_equal "$(ls "$T/var/node-exporter")" rlock.prom
  promtool check metrics <"$T/var/node-exporter/rlock.prom"
  cp "$T/var/node-exporter/rlock.prom" "$T/before"
  sed -i "s|^RLOCK_SERVER=.*|RLOCK_SERVER=unix://$T/nothing.sock|" "$T/crontab"
  cron_entry "$T/crontab" cd
  run "${COMMAND[@]}"
  assert_failure
  cmp "$T/before" "$T/var/node-exporter/rlock.prom"
}

@test "Prometheus: the alert is valid, comes when it should, and only then" {
  recipe 'Prometheus' 2 >"$T/rules.yml"
  promtool check rules "$T/rules.yml"
  cat >"$T/tests.yml" <<'YAML'
rule_files: [rules.yml]
evaluation_interval: 1m
tests:
- interval: 1m
  input_series:
  - {series: 'rlock_last_run_timestamp_seconds{key="nightly",outcome="succeeded"}', values: '0x3000'}
  alert_rule_test:
  - {eval_time: 25h, alertname: JobOverdue}
  - eval_time: 27h
    alertname: JobOverdue
    exp_alerts: [{exp_labels: {key: nightly, outcome: succeeded}}]
- interval: 1m
  input_series: []
  alert_rule_test:
  - eval_time: 5m
    alertname: JobOverdue
    exp_alerts: [{exp_labels: {key: nightly, outcome: succeeded}}]
YAML
  cd "$T" && promtool test rules tests.yml
}

@test "a fence at the resource: the late run is refused" {
  local total
  at_home
  recipe 'A fence at the resource' >"$T/write"
  sqlite3 report.db 'CREATE TABLE report (id INTEGER PRIMARY KEY, total INTEGER, fence INTEGER);
    INSERT INTO report VALUES (1, 0, 0);'
  # shellcheck disable=SC2030
  total=1 RLOCK_FENCE=20 run sh "$T/write"
  assert_success
  total=2 RLOCK_FENCE=19 run sh "$T/write"
  assert_equal "$status" 1
  assert_output 'a later run has written'
  total=3 run rlock -k report -- sh "$T/write"
  assert_success
  assert_equal "$(sqlite3 report.db 'SELECT total FROM report')" 3
}
