#!/usr/bin/env bats
# rlock and other clients on one key, both ways round: lib/company_stories.bash of four of them.
load ../lib/rlock
load ../lib/company
load ../lib/company_stories

@test "redis-py: while the client holds, rlock is turned away, names its token and touches nothing" { with redis_py rlock_is_turned_away; }
@test "redis-py: a waiter of rlock looks each 200 to 500 ms, and has the lock when the client has released" { with redis_py rlock_looks_and_gets_it; }
@test "redis-py: a waiter of rlock has the lock when the lease of a client that crashed is over, and not before" { with redis_py rlock_outwaits_a_crash; }
@test "redis-py: while rlock holds, the client is turned away, at once and after a wait" { with redis_py client_is_turned_away; }
@test "redis-py: a client that waits has the lock when rlock has released, and not before" { with redis_py client_gets_it; }
@test "redis-py: a client that waits has the lock when the lease of an rlock that crashed is over" { with redis_py client_outwaits_a_crash; }
@test "redis-py: a client that lost the lock to rlock can neither extend nor release it" { with redis_py client_that_lost_it; }
@test "redis-py: an rlock that lost the lock to the client stops its job and leaves the client's key alone" { with redis_py rlock_that_lost_it; }
@test "redis-py: counting together, rlock and the client lose nothing" { with redis_py counting_together; }
@test "redis-py: neither's companions are the other's, and nothing but the fence remains" { with redis_py companions; }

@test "python-redis-lock: while the client holds, rlock is turned away, names its token and touches nothing" { with python_redis_lock rlock_is_turned_away; }
@test "python-redis-lock: a waiter of rlock looks each 200 to 500 ms, and has the lock when the client has released" { with python_redis_lock rlock_looks_and_gets_it; }
@test "python-redis-lock: a waiter of rlock has the lock when the lease of a client that crashed is over, and not before" { with python_redis_lock rlock_outwaits_a_crash; }
@test "python-redis-lock: while rlock holds, the client is turned away, at once and after a wait" { with python_redis_lock client_is_turned_away; }
@test "python-redis-lock: a client that waits has the lock when rlock has released, and not before" { with python_redis_lock client_gets_it; }
@test "python-redis-lock: a client that waits has the lock when the lease of an rlock that crashed is over" { with python_redis_lock client_outwaits_a_crash; }
@test "python-redis-lock: a client that lost the lock to rlock can neither extend nor release it" { with python_redis_lock client_that_lost_it; }
@test "python-redis-lock: an rlock that lost the lock to the client stops its job and leaves the client's key alone" { with python_redis_lock rlock_that_lost_it; }
@test "python-redis-lock: counting together, rlock and the client lose nothing" { with python_redis_lock counting_together; }
@test "python-redis-lock: neither's companions are the other's, and nothing but the fence remains" { with python_redis_lock companions; }

@test "redlock: while the client holds, rlock is turned away, names its token and touches nothing" { with redlock rlock_is_turned_away; }
@test "redlock: a waiter of rlock looks each 200 to 500 ms, and has the lock when the client has released" { with redlock rlock_looks_and_gets_it; }
@test "redlock: a waiter of rlock has the lock when the lease of a client that crashed is over, and not before" { with redlock rlock_outwaits_a_crash; }
@test "redlock: while rlock holds, the client is turned away, at once and after a wait" { with redlock client_is_turned_away; }
@test "redlock: a client that waits has the lock when rlock has released, and not before" { with redlock client_gets_it; }
@test "redlock: a client that waits has the lock when the lease of an rlock that crashed is over" { with redlock client_outwaits_a_crash; }
@test "redlock: a client that lost the lock to rlock can neither extend nor release it" { with redlock client_that_lost_it; }
@test "redlock: an rlock that lost the lock to the client stops its job and leaves the client's key alone" { with redlock rlock_that_lost_it; }
@test "redlock: counting together, rlock and the client lose nothing" { with redlock counting_together; }
@test "redlock: neither's companions are the other's, and nothing but the fence remains" { with redlock companions; }

@test "Spring: while the client holds, rlock is turned away, names its token and touches nothing" { with spring rlock_is_turned_away; }
@test "Spring: a waiter of rlock looks each 200 to 500 ms, and has the lock when the client has released" { with spring rlock_looks_and_gets_it; }
@test "Spring: a waiter of rlock has the lock when the lease of a client that crashed is over, and not before" { with spring rlock_outwaits_a_crash; }
@test "Spring: while rlock holds, the client is turned away, at once and after a wait" { with spring client_is_turned_away; }
@test "Spring: a client that waits has the lock when rlock has released, and not before" { with spring client_gets_it; }
@test "Spring: a client that waits has the lock when the lease of an rlock that crashed is over" { with spring client_outwaits_a_crash; }
@test "Spring: a client that lost the lock to rlock can neither extend nor release it" { with spring client_that_lost_it; }
@test "Spring: an rlock that lost the lock to the client stops its job and leaves the client's key alone" { with spring rlock_that_lost_it; }
@test "Spring: counting together, rlock and the client lose nothing" { with spring counting_together; }
@test "Spring: neither's companions are the other's, and nothing but the fence remains" { with spring companions; }
