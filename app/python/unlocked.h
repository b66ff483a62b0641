// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <semaphore>
#include <thread>

namespace retro::python
{

/// Says whether somebody else loaded the OpenMP run time, so that its waiting threads spin.
void sharesThreads(bool isShared);

/// A pass: the lock of the interpreter is let go, and threads of OpenMP that wait do not spin. libgomp decides how they
/// wait while it is loaded, and PyTorch, which may have loaded it, lets them spin for milliseconds: on two processors a
/// pass then took four times as long. But with more threads than processors libgomp spins hardly at all. So where all
/// processors are in use, a thread of our own holds one more of its threads, idle, as long as the pass takes.
class Unlocked
{
public:
    Unlocked();
    ~Unlocked();
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

private:
    nanobind::gil_scoped_release m_lock;
    std::binary_semaphore m_isHeld{0};
    std::binary_semaphore m_isDone{0};
    std::thread m_holder;
};

} // namespace retro::python
