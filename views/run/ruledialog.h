// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/run/rulequestion.h"

#include <QDialog>

#include <functional>

class QComboBox;
class QFormLayout;
class QLabel;
class QPushButton;

namespace retro::views
{

/// Asks for another rule of a node, of its type, its structure or a scope, with the rule's parameters. Says what was
/// chosen as it would stand on the command line. GUI thread.
class RuleDialog final : public QDialog
{
    Q_OBJECT

public:
    RuleDialog(RuleQuestion question, QWidget* parent);

    /// `MATCHER=RULE`, with the parameters that are not as usual.
    [[nodiscard]] QString text() const;

signals:
    /// Run was pressed with something that can be read.
    void chosen(const QString& text);

private:
    void fillBoxes();
    void showRule();
    void showText();
    [[nodiscard]] QWidget* makeField(const RuleOption& rule, std::size_t parameter, QWidget* parent);
    void showFormula(bool isReadable);
    void applyColors();
    [[nodiscard]] const RuleOption* rule() const;

    RuleQuestion m_question;
    QComboBox* m_reach = nullptr;
    QComboBox* m_rule = nullptr;
    QLabel* m_formula = nullptr;
    QWidget* m_fields = nullptr;
    QFormLayout* m_form = nullptr;
    std::vector<std::function<QString()>> m_values; ///< what the field of each parameter of the rule says
    QLabel* m_numbers = nullptr;
    QLabel* m_text = nullptr;
    QLabel* m_problem = nullptr;
    QPushButton* m_run = nullptr;
};

} // namespace retro::views
