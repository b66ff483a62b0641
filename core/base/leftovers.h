// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace retro::base
{

/// While one lives on a thread, what work on that thread leaves behind is taken apart when it ends and not before. The
/// graph of 100,000 nodes of a job that was stopped takes longer to free than its owner may wait for the answer: with a
/// Leftovers around the job, the answer goes out first. One per thread at a time; without one, things end at once.
class Leftovers
{
public:
    Leftovers() : m_outer(std::exchange(current(), this)) {}
    ~Leftovers() { current() = m_outer; }
    Leftovers(const Leftovers&) = delete;
    Leftovers& operator=(const Leftovers&) = delete;

    /// Keeps a thing until the thread's Leftovers ends; lets go of it when there is none.
    static void add(std::shared_ptr<const void> thing)
    {
        if (current() != nullptr) {
            current()->m_things.push_back(std::move(thing));
        }
    }
    /// The same for a value, which is moved from.
    template <class T>
    static void leave(T&& value)
    {
        if (current() != nullptr) {
            add(std::make_shared<const std::remove_cvref_t<T>>(std::move(value)));
        }
    }
    /// Hands over what was kept so far, for another thread to let go of.
    [[nodiscard]] std::vector<std::shared_ptr<const void>> take() { return std::exchange(m_things, {}); }

private:
    static Leftovers*& current()
    {
        thread_local Leftovers* leftovers = nullptr;
        return leftovers;
    }

    Leftovers* m_outer;
    std::vector<std::shared_ptr<const void>> m_things;
};

} // namespace retro::base
