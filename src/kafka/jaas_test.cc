#include "kafka/jaas.h"

#include <gtest/gtest.h>

#include "common/error.h"

namespace thalweg {
namespace {

const std::string kPlain = "org.apache.kafka.common.security.plain.PlainLoginModule";

TEST(Jaas, EventHubsConnectionString) {
  const JaasEntry entry = parseJaas(kPlain + R"( required username="$ConnectionString" password="Endpoint=sb://n.example/;SharedAccessKeyName=R;SharedAccessKey=abc=";)");
  EXPECT_EQ(entry.loginModule, kPlain);
  EXPECT_EQ(entry.controlFlag, "required");
  EXPECT_EQ(entry.options.at("username"), "$ConnectionString");
  EXPECT_EQ(entry.options.at("password"), "Endpoint=sb://n.example/;SharedAccessKeyName=R;SharedAccessKey=abc=");
}

TEST(Jaas, QuotesEscapesAndComments) {
  const auto value = [](const std::string& text) { return parseJaas("M required\n p=" + text + ";").options.at("p"); };
  EXPECT_EQ(value("plain_word-1.$x"), "plain_word-1.$x");
  EXPECT_EQ(value(R"('single "inside"')"), "single \"inside\"");
  EXPECT_EQ(value(R"("a\"b\\c\101\tz")"), "a\"b\\cA\tz");
  EXPECT_EQ(value("/* c ; */ \"v\" // to the end ;\n"), "v");
  EXPECT_EQ(value("\"\""), "");
}

TEST(Jaas, WhatIsWrongIsSaidWithoutTheText) {
  for (const std::string text : {"", "M", "M wanted a=b;", "M required a=\"hunter2", "M required a=hunter2", "M required a hunter2;",
                                 "M required a=;", "M required a=hunter2; N required;", "M required a=hunter2/;", "M required /* x"}) {
    try {
      parseJaas(text);
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::IllegalArgument);
      EXPECT_EQ(error.text().find("hunter2"), std::string::npos) << error.text();
    }
  }
}

TEST(Jaas, OnlyKafkasOwnLoginModulesAreKnown) {
  EXPECT_EQ(mechanismOfLoginModule(kPlain), JaasMechanism::Plain);
  EXPECT_EQ(mechanismOfLoginModule("kafkashaded." + kPlain), JaasMechanism::Plain);
  EXPECT_EQ(mechanismOfLoginModule("org.apache.kafka.common.security.scram.ScramLoginModule"), JaasMechanism::Scram);
  EXPECT_THROW(mechanismOfLoginModule("com.sun.security.auth.module.JndiLoginModule"), Error);
  EXPECT_THROW(mechanismOfLoginModule("kafkashaded.evil." + kPlain), Error);
}

}  // namespace
}  // namespace thalweg
