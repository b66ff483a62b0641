// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <map>
#include <memory>
#include <mutex>
#include <typeindex>
#include <utility>

namespace retro::views
{

/// What follows from a run alone and takes a walk over its events or its graph: indexes, the forest of promises, places
/// to stop. Each kind is made once, for all views together. The engine thread asks for every kind before the window
/// gets the run, so that the GUI thread only picks up what is there. Any thread.
class RunDerived
{
public:
    explicit RunDerived(std::shared_ptr<const trace::Run> run) : m_run(std::move(run)) {}

    /// The T of the run: T(const trace::Run&), made when it is asked for first. What it points to stays alive with it.
    template <class T>
    [[nodiscard]] std::shared_ptr<const T> get()
    {
        const std::lock_guard lock(m_mutex);
        std::shared_ptr<const void>& made = m_made[std::type_index(typeid(T))];
        if (made == nullptr) {
            struct Held
            {
                std::shared_ptr<const trace::Run> run;
                T value;
            };
            auto held = std::make_shared<const Held>(Held{m_run, T(*m_run)});
            made = std::shared_ptr<const T>(held, &held->value);
        }
        return std::static_pointer_cast<const T>(made);
    }

private:
    std::shared_ptr<const trace::Run> m_run;
    std::mutex m_mutex;
    std::map<std::type_index, std::shared_ptr<const void>> m_made;
};

} // namespace retro::views
