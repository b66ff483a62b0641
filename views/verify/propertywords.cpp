// SPDX-License-Identifier: Apache-2.0
#include "views/verify/propertywords.h"

#include "views/verify/verificationtranslation.h"

#include <algorithm>
#include <array>

namespace retro::views
{

namespace
{

struct Words
{
    const char* id;
    const char* text;
};

constexpr std::array kPropertyWords{
    Words{"P1", RETRO_VERIFICATION("The tape has one cell per leaf and per node")},
    Words{"P2", RETRO_VERIFICATION("Every node reads what a forward pass gives")},
    Words{"P3", RETRO_VERIFICATION("The tape holds the values of a forward pass")},
    Words{"P4", RETRO_VERIFICATION("Contributions go only to earlier cells")},
    Words{"P5", RETRO_VERIFICATION("The loop equals the recursion, bit for bit")},
    Words{"P6", RETRO_VERIFICATION("Skipping what nothing reached changes nothing")},
    Words{"P7", RETRO_VERIFICATION("Forward and reverse derivatives agree")},
    Words{"P8", RETRO_VERIFICATION("Each node's reverse rule fits its operator")},
    Words{"P9", RETRO_VERIFICATION("A cell that gets nothing changes nothing")},
    Words{"P10", RETRO_VERIFICATION("The order of the nodes does not matter")},
    Words{"P11", RETRO_VERIFICATION("Rules that conserve keep the total")},
    Words{"P12", RETRO_VERIFICATION("What leaks is accounted for")},
    Words{"P13", RETRO_VERIFICATION("Exactly what leads to the score is reached")},
    Words{"P14", RETRO_VERIFICATION("Every way to the score is counted once")},
    Words{"gradient", RETRO_VERIFICATION("The gradient is the slope of the score")},
    Words{"promise", RETRO_VERIFICATION("The promise engine equals the oracle")},
    Words{"everything saved", RETRO_VERIFICATION("With everything saved, relevance is the same")},
    Words{"compiled", RETRO_VERIFICATION("The compiled program equals the oracle")},
    Words{"conservation", RETRO_VERIFICATION("All relevance is at the inputs or in the ledger")},
};

} // namespace

QString plainWords(const CheckedProperty& property)
{
    const auto* found =
        std::ranges::find_if(kPropertyWords, [&](const Words& one) { return property.id == QLatin1String(one.id); });
    return found == kPropertyWords.end() ? property.statement : verificationText(found->text);
}

QString wordOf(Verdict verdict)
{
    constexpr std::array kVerdicts{RETRO_VERIFICATION("held"), RETRO_VERIFICATION("violated"),
                                   RETRO_VERIFICATION("not applicable")};
    return verificationText(kVerdicts[static_cast<std::size_t>(verdict)]);
}

QString signOf(Verdict verdict)
{
    switch (verdict) {
    case Verdict::Held:
        return QStringLiteral("✓");
    case Verdict::Violated:
        return QStringLiteral("✕");
    case Verdict::NotApplicable:
        break;
    }
    return QStringLiteral("–");
}

Role roleOf(Verdict verdict)
{
    switch (verdict) {
    case Verdict::Held:
        return Role::Text;
    case Verdict::Violated:
        return Role::AlarmText;
    case Verdict::NotApplicable:
        break;
    }
    return Role::Text3;
}

} // namespace retro::views
