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
    Words{"P1", QT_TRANSLATE_NOOP("retro::views::VerificationView", "The tape has one cell per leaf and per node")},
    Words{"P2", QT_TRANSLATE_NOOP("retro::views::VerificationView", "Every node reads what a forward pass gives")},
    Words{"P3", QT_TRANSLATE_NOOP("retro::views::VerificationView", "The tape holds the values of a forward pass")},
    Words{"P4", QT_TRANSLATE_NOOP("retro::views::VerificationView", "Contributions go only to earlier cells")},
    Words{"P5", QT_TRANSLATE_NOOP("retro::views::VerificationView", "The loop equals the recursion, bit for bit")},
    Words{"P6", QT_TRANSLATE_NOOP("retro::views::VerificationView", "Skipping what nothing reached changes nothing")},
    Words{"P7", QT_TRANSLATE_NOOP("retro::views::VerificationView", "Forward and reverse derivatives agree")},
    Words{"P8", QT_TRANSLATE_NOOP("retro::views::VerificationView", "Each node's reverse rule fits its operator")},
    Words{"P9", QT_TRANSLATE_NOOP("retro::views::VerificationView", "A cell that gets nothing changes nothing")},
    Words{"P10", QT_TRANSLATE_NOOP("retro::views::VerificationView", "The order of the nodes does not matter")},
    Words{"P11", QT_TRANSLATE_NOOP("retro::views::VerificationView", "Rules that conserve keep the total")},
    Words{"P12", QT_TRANSLATE_NOOP("retro::views::VerificationView", "What leaks is accounted for")},
    Words{"P13", QT_TRANSLATE_NOOP("retro::views::VerificationView", "Exactly what leads to the score is reached")},
    Words{"P14", QT_TRANSLATE_NOOP("retro::views::VerificationView", "Every way to the score is counted once")},
    Words{"gradient", QT_TRANSLATE_NOOP("retro::views::VerificationView", "The gradient is the slope of the score")},
    Words{"promise", QT_TRANSLATE_NOOP("retro::views::VerificationView", "The promise engine equals the oracle")},
    Words{"everything saved",
          QT_TRANSLATE_NOOP("retro::views::VerificationView", "With everything saved, relevance is the same")},
    Words{"compiled", QT_TRANSLATE_NOOP("retro::views::VerificationView", "The compiled program equals the oracle")},
    Words{"conservation",
          QT_TRANSLATE_NOOP("retro::views::VerificationView", "All relevance is at the inputs or in the ledger")},
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
    constexpr std::array kVerdicts{QT_TRANSLATE_NOOP("retro::views::VerificationView", "held"),
                                   QT_TRANSLATE_NOOP("retro::views::VerificationView", "violated"),
                                   QT_TRANSLATE_NOOP("retro::views::VerificationView", "not applicable")};
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
