// exit.ts: a pi extension whose command ends pi in mid-run: /exit STATUS

export default function (pi: any) {
  pi.registerCommand("exit", {
    description: "End the process with this status",
    handler: async (args: string) => {
      process.exit(Number(args));
    },
  });
}
