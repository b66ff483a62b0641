// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/failure.h"
#include "core/base/memorylimit.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <functional>
#include <string>
#include <type_traits>

namespace retro::ops::onednn
{

inline constexpr auto kFloat = dnnl::memory::data_type::f32;

/// What the library asks for beside tensors in one call, at most, in bytes: its code, its descriptions, copies of
/// panels. It reads what it did not get.
inline constexpr std::size_t kRoom = std::size_t{8} << 20U;

/// The processor as oneDNN sees it; one for the whole program. Throws a base::Failure (Memory) where there is no room
/// for a call of the library.
[[nodiscard]] const dnnl::engine& engine();
/// The calling thread's stream, under the same condition. Also hands OpenMP the number of threads in force.
[[nodiscard]] dnnl::stream& stream();
/// The calling thread's stream, for a call that this thread computes alone: as one of the parts that our own loops hand
/// to several threads.
[[nodiscard]] dnnl::stream& streamOfOneThread();

/// Threads that primitives are made for. The library cuts its work by that number, and the cuts show in the last bits;
/// so it is the same whatever the number in force.
inline constexpr int kPlannedThreads = 32;

/// While it lives, primitives made on this thread are for so many threads.
class ThreadsPlanned
{
public:
    explicit ThreadsPlanned(int count);
    ~ThreadsPlanned();
    ThreadsPlanned(const ThreadsPlanned&) = delete;
    ThreadsPlanned& operator=(const ThreadsPlanned&) = delete;
};

/// f(), which executes a primitive that was made for kPlannedThreads threads, on no more than the number in force. What
/// f throws leaves it.
void withinThreads(const std::function<void()>& f);

/// Whether the library computes with registers of 512 bits here; what it does well and badly differs without them.
[[nodiscard]] bool hasWideRegisters();
/// f(), which calls the library: what that throws leaves as a base::Failure, Memory where it has no memory for its own
/// scratch, else Engine with what the library says.
template <class F>
auto asFailure(const F& f) -> std::invoke_result_t<const F&>
{
    try {
        return f();
    } catch (const dnnl::error& error) {
        if (error.status == dnnl_out_of_memory) {
            throw base::Failure(base::outOfMemory());
        }
        throw base::Failure(base::engineError(std::string("oneDNN does not compute this: ") + error.what()));
    }
}

/// A view of memory that the library only reads.
[[nodiscard]] inline dnnl::memory readOnly(const dnnl::memory::desc& desc, const void* data)
{
    return {desc, engine(), const_cast<void*>(data)}; // the interface has no const, arguments read are not written
}

} // namespace retro::ops::onednn
