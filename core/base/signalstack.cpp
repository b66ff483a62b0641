// SPDX-License-Identifier: Apache-2.0
#include "core/base/signalstack.h"

#include <csignal>
#include <cstddef>
#include <memory>

namespace retro::base
{

namespace
{

/// Registers of the largest processors take more than ten kilobytes on it.
constexpr std::size_t kSignalStackBytes = std::size_t{64} << 10U;

/// Of one thread, as long as it lives.
class SignalStack
{
public:
    SignalStack() : m_memory(std::make_unique<std::byte[]>(kSignalStackBytes))
    {
        stack_t before{};
        if (::sigaltstack(nullptr, &before) == 0 && (before.ss_flags & SS_DISABLE) == 0) {
            m_memory.reset(); // another part of the program gave it one
            return;
        }
        stack_t own{};
        own.ss_sp = m_memory.get();
        own.ss_size = kSignalStackBytes;
        ::sigaltstack(&own, nullptr);
    }
    ~SignalStack()
    {
        if (m_memory) {
            stack_t none{};
            none.ss_flags = SS_DISABLE;
            ::sigaltstack(&none, nullptr);
        }
    }
    SignalStack(const SignalStack&) = delete;
    SignalStack& operator=(const SignalStack&) = delete;

private:
    std::unique_ptr<std::byte[]> m_memory;
};

} // namespace

void useSignalStack() { thread_local const SignalStack stack; }

} // namespace retro::base
