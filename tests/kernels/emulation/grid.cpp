// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/emulation/grid.h"

#include "tests/kernels/emulation/cuda/cuda_runtime.h"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <numeric>
#include <vector>

retro::emulation::Dimensions threadIdx;
retro::emulation::Dimensions blockIdx;
retro::emulation::Dimensions blockDim;
retro::emulation::Dimensions gridDim;

namespace retro::emulation
{

namespace
{

constexpr std::size_t kStack = std::size_t{64} << 10;
/// The mask of who waits for all threads; no shuffle has it.
constexpr std::uint32_t kWholeBlock = 0;

/// A stack of its own, on which threads run until one waits.
struct Fiber
{
    ucontext_t context{};
    std::unique_ptr<std::byte[]> stack{new std::byte[kStack]};
};

/// The threads of a block. A fiber runs one after another; only where a thread waits for other lanes of its warp, the
/// rest goes on with another fiber.
class Block
{
public:
    explicit Block(std::uint32_t threads) : m_threads(threads), m_order(threads)
    {
        std::iota(m_order.begin(), m_order.end(), 0U);
    }

    std::string run(const std::function<void()>& thread, std::mt19937& order)
    {
        m_thread = &thread;
        m_next = 0;
        std::fill(m_threads.begin(), m_threads.end(), Thread{});
        std::shuffle(m_order.begin(), m_order.end(), order);
        do {
            while (m_next < m_order.size() && m_fault.empty()) {
                startFiber();
            }
            release();
        } while (m_fault.empty() && resumeAll());
        const bool isDone =
            std::all_of(m_threads.begin(), m_threads.end(), [](const Thread& one) { return one.state == State::Done; });
        if (m_fault.empty() && !isDone) {
            m_fault = "a thread waits for another that never comes";
        }
        return m_fault;
    }

    std::uint64_t exchange(std::uint32_t mask, std::uint64_t bits, std::uint32_t delta, std::uint32_t width)
    {
        const std::uint32_t self = m_current;
        const std::uint32_t lane = self % kWarp;
        const std::uint32_t from = lane % width + delta < width ? lane + delta : lane;
        if ((mask >> lane & 1U) == 0 || (mask >> from & 1U) == 0) {
            m_fault = "a shuffle reads or writes a lane outside of its mask";
        }
        // Who goes on may give the next before others have read this, but not the one behind it: two places will do.
        const std::size_t turn = m_threads[self].exchanges++ % 2;
        m_threads[self].bits[turn] = bits;
        wait(mask);
        return m_threads[self - lane + from].bits[turn];
    }

    void waitForAll() { wait(kWholeBlock); }

    /// Where a fiber starts.
    static void enter();

private:
    enum class State { Waiting, Ready, Done };
    struct Thread
    {
        State state = State::Ready;
        std::uint32_t mask = 0;              ///< of the lanes that it waits for
        std::array<std::uint64_t, 2> bits{}; ///< what it gave to other lanes last, and before
        std::size_t exchanges = 0;
        Fiber* fiber = nullptr; ///< while it waits
    };

    /// Runs threads that have not run, until one waits.
    void startFiber()
    {
        if (m_free.empty()) {
            m_fibers.push_back(std::make_unique<Fiber>());
            m_free.push_back(m_fibers.back().get());
        }
        m_fiber = m_free.back();
        m_free.pop_back();
        getcontext(&m_fiber->context);
        m_fiber->context.uc_stack.ss_sp = m_fiber->stack.get();
        m_fiber->context.uc_stack.ss_size = kStack;
        m_fiber->context.uc_link = &m_scheduler;
        makecontext(&m_fiber->context, enter, 0);
        swapcontext(&m_scheduler, &m_fiber->context);
    }

    void runThreads()
    {
        while (m_next < m_order.size() && m_fault.empty()) {
            setCurrent(m_order[m_next++]);
            (*m_thread)();
            m_threads[m_current].state = State::Done;
        }
        m_free.push_back(m_fiber);
    }

    void setCurrent(std::uint32_t thread)
    {
        m_current = thread;
        threadIdx = {thread, 0, 0};
    }

    /// Lets all that waited and need not any more go on; false when there were none.
    bool resumeAll()
    {
        bool hasRun = false;
        for (const std::uint32_t i : m_order) {
            if (m_threads[i].state == State::Ready && m_threads[i].fiber != nullptr && m_fault.empty()) {
                m_fiber = m_threads[i].fiber;
                setCurrent(i);
                swapcontext(&m_scheduler, &m_fiber->context);
                hasRun = true;
            }
        }
        return hasRun;
    }

    void wait(std::uint32_t mask)
    {
        Thread& self = m_threads[m_current];
        self.mask = mask;
        self.state = State::Waiting;
        self.fiber = m_fiber;
        swapcontext(&m_fiber->context, &m_scheduler);
    }

    /// Lanes whose whole mask waits are ready; so are all threads, where all wait for each other.
    void release()
    {
        if (std::all_of(m_threads.begin(), m_threads.end(),
                        [](const Thread& one) { return one.state == State::Waiting && one.mask == kWholeBlock; })) {
            for (Thread& one : m_threads) {
                one.state = State::Ready;
            }
            return;
        }
        for (std::uint32_t i = 0; i < m_threads.size(); ++i) {
            if (m_threads[i].state == State::Waiting && m_threads[i].mask != kWholeBlock && isComplete(i)) {
                const std::uint32_t mask = m_threads[i].mask;
                for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
                    if ((mask >> lane & 1U) != 0) {
                        m_threads[i / kWarp * kWarp + lane].state = State::Ready;
                    }
                }
            }
        }
    }

    [[nodiscard]] bool isComplete(std::uint32_t one) const
    {
        const std::uint32_t mask = m_threads[one].mask;
        for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
            const std::size_t other = one / kWarp * kWarp + lane;
            const bool isThere =
                other < m_threads.size() && m_threads[other].state == State::Waiting && m_threads[other].mask == mask;
            if ((mask >> lane & 1U) != 0 && !isThere) {
                return false;
            }
        }
        return true;
    }

    std::vector<Thread> m_threads;
    std::vector<std::uint32_t> m_order;
    std::size_t m_next = 0; ///< in the order: the first that has not run
    std::vector<std::unique_ptr<Fiber>> m_fibers;
    std::vector<Fiber*> m_free;
    const std::function<void()>* m_thread = nullptr;
    ucontext_t m_scheduler{};
    Fiber* m_fiber = nullptr; ///< that runs
    std::uint32_t m_current = 0;
    std::string m_fault;
};

Block* g_running = nullptr;

void Block::enter() { g_running->runThreads(); }

} // namespace

std::string runGrid(const Dimensions& grid, const Dimensions& block, const std::function<void()>& thread,
                    std::mt19937& order)
{
    std::vector<unsigned> blocks(grid.x);
    std::iota(blocks.begin(), blocks.end(), 0U);
    std::shuffle(blocks.begin(), blocks.end(), order);
    Block threads(block.x);
    g_running = &threads;
    gridDim = grid;
    blockDim = block;
    std::string fault;
    for (std::size_t i = 0; i < blocks.size() && fault.empty(); ++i) {
        blockIdx = {blocks[i], 0, 0};
        fault = threads.run(thread, order);
    }
    g_running = nullptr;
    return fault;
}

std::uint64_t exchangeDown(std::uint32_t mask, std::uint64_t bits, std::uint32_t delta, std::uint32_t width)
{
    return g_running->exchange(mask, bits, delta, width);
}

void waitForBlock() { g_running->waitForAll(); }

} // namespace retro::emulation
