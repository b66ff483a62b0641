// SPDX-License-Identifier: Apache-2.0
#include "app/python/unlocked.h"

#include "core/ops/threads.h"

#include <omp.h>
#include <pthread.h>

#include <atomic>
#include <system_error>

namespace retro::python
{

namespace
{

std::atomic<bool> isRuntimeShared = false;

} // namespace

void sharesThreads(bool isShared) { isRuntimeShared = isShared; }

Unlocked::Unlocked()
{
    if (!isRuntimeShared || ops::threads() < omp_get_num_procs()) {
        return;
    }
    try {
        m_holder = std::thread([this] {
            pthread_setname_np(pthread_self(), "retro-holder");
            int team = 0; // the second thread of a team stays with this one
#pragma omp parallel num_threads(2) reduction(+ : team)
            ++team;
            m_isHeld.release();
            m_isDone.acquire();
        });
        m_isHeld.acquire();
    } catch (const std::system_error&) { // no more threads: the pass takes longer
    }
}

Unlocked::~Unlocked()
{
    if (m_holder.joinable()) {
        m_isDone.release();
        m_holder.join();
    }
}

} // namespace retro::python
